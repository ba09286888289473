package main

import (
	"fmt"
	"net"
	"strconv"
)

// Each pod has ten ports, with the last digit of the ports that people know: 15000, 15001, 15006, and so on.
const (
	adminPort    = 0
	outboundPort = 1
	healthPort   = 2
	inboundPort  = 6
	appPort      = 8

	portsPerPod = 10
	portsUsed   = 7 * portsPerPod
)

// pod is an app and the sidecar beside it. The entry has a sidecar only.
type pod struct {
	service, tag string
	ports        int // the first of its ten

	app, sidecar *child
}

func (p *pod) isEntry() bool { return p.service == "" }

// name is what logs and tables call the pod: "orders-gray", "entry".
func (p *pod) name() string {
	if p.isEntry() {
		return "entry"
	}
	return p.service + "-" + p.tag
}

// address is where one of the pod's ports is.
func (p *pod) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.ports+port))
}

// listeners are the addresses that the pod's processes will listen at, each with the name of its use.
func (p *pod) listeners() map[string]string {
	l := map[string]string{
		p.address(adminPort):    "admin",
		p.address(outboundPort): "outbound",
		p.address(healthPort):   "health",
		p.address(inboundPort):  "inbound",
	}
	if !p.isEntry() {
		l[p.address(appPort)] = "app"
	}
	return l
}

// sidecarArgs is the command line of the pod's sidecar.
func (p *pod) sidecarArgs(policy string) []string {
	args := []string{"run", "--policy", policy,
		"--admin", p.address(adminPort), "--outbound", p.address(outboundPort),
		"--health", p.address(healthPort), "--inbound", p.address(inboundPort),
		"--grace", "500ms", "--drain", "5s", "--access-log"}
	if p.isEntry() {
		return args
	}
	return append(args, "--app", p.address(appPort), "--service", p.service, "--tag", p.tag)
}

// appArgs is the command line of the pod's app, which calls next.
func (p *pod) appArgs(next string) []string {
	return []string{"app", "--name", p.name(), "--next", next,
		"--listen", p.address(appPort), "--proxy", p.address(outboundPort)}
}

// String names the pod and its ports: "orders-gray (21040-21049)".
func (p *pod) String() string {
	return fmt.Sprintf("%s (%d-%d)", p.name(), p.ports, p.ports+portsPerPod-1)
}
