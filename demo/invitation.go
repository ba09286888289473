package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// invite says what can be tried while the demo stays up.
func (s *shop) invite(out io.Writer) error {
	call := "curl -x http://" + s.entry().address(outboundPort) + " http://front/"
	fmt.Fprint(out, "\nThe shop stays up. Try:\n\n")
	columns := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, line := range [][2]string{
		{call + " -H 'X-User-Id: 1'", "a gray user"},
		{call + " -H 'X-User-Id: 4'", "any other user"},
		{call + " -H 'X-Gray: gray'", "a caller who says so"},
		{call + "headers -H 'X-User-Id: 1'", "what the apps get"},
		{s.policyPath(), "edit it: requests obey within a second"},
		{s.logs() + "/", "a log for each process, with every request"},
		{"http://" + s.entry().address(adminPort) + "/policy", "what the entry sidecar obeys"},
		{"http://" + s.pod("orders-gray").address(healthPort) + "/metrics", "what the sidecar of gray orders counted"},
	} {
		fmt.Fprintf(columns, "  %s\t%s\n", line[0], line[1])
	}
	if err := columns.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	fmt.Fprint(out, "\nCtrl-C ends everything.\n")
	return nil
}
