package main

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
)

// checkPorts finds every port that is taken before anything is built or started.
func (s *shop) checkPorts() error {
	var taken []string
	for _, p := range s.pods {
		listeners := p.listeners()
		for _, address := range slices.Sorted(maps.Keys(listeners)) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				taken = append(taken, fmt.Sprintf("%s (%s of %s)", address, listeners[address], p.name()))
				continue
			}
			_ = l.Close()
		}
	}
	if taken == nil {
		return nil
	}
	return fmt.Errorf("cannot listen at %s; is another demo running? Stop it, or choose other ports: --port-base %d",
		strings.Join(taken, ", "), s.portBase+100)
}
