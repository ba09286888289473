package main

import (
	"context"
	"errors"
	"net"
	"strconv"

	"graylane/internal/listen"
)

// errSilent ends a look at a tunnel without another end: nobody has spoken yet.
var errSilent = errors.New("its caller says nothing yet")

// look is the [http1.Look] of the side: a tunnel is looked into as a redirected
// connection is.
func (s *side) look(caller net.Conn, first, target []byte, origin net.Conn) (http bool, err error) {
	from, ok := caller.(*net.TCPConn)
	if !ok {
		return false, nil
	}
	to, connected := origin.(*net.TCPConn)
	finding, err := s.detector.Detect(s.undecided, from, first, portOf(target), func(context.Context) (*net.TCPConn, error) {
		if !connected {
			return nil, errSilent
		}
		return to, nil
	})
	if errors.Is(err, errSilent) {
		return false, nil
	}
	return finding.Protocol == listen.HTTP1 || finding.Protocol == listen.H2C, err
}

// portOf gives the port of a target, 0 for none that could be read.
func portOf(target []byte) uint16 {
	_, port, err := net.SplitHostPort(string(target))
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	return uint16(n)
}
