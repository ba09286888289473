package main

import "fmt"

// invitation says what can be tried while the demo stays up.
func (s *shop) invitation() string {
	entry, orders := s.entry(), s.pod("orders-gray")
	call := "  curl -x http://" + entry.address(outboundPort) + " "
	return fmt.Sprintf(`
The shop stays up. Try:

%[1]shttp://front/ -H 'X-User-Id: 1'          a gray user
%[1]shttp://front/ -H 'X-User-Id: 4'          any other user
%[1]shttp://front/ -H 'X-Gray: gray'          a caller who says so
%[1]shttp://front/headers -H 'X-User-Id: 1'   what the apps get

  %[2]s   edit it: the next request obeys within a second
  %[3]s/   a log for each process, with every request
  http://%[4]s/policy      what the entry sidecar obeys
  http://%[5]s/metrics     what the sidecar of gray orders counted

Ctrl-C ends everything.
`, call, s.policyPath(), s.logs(), entry.address(adminPort), orders.address(healthPort))
}
