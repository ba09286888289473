package main

import (
	"io"
	"net"
)

// runTCPForwarder is the least that a TCP proxy in Go can be.
func runTCPForwarder(args []string) error {
	l, err := net.Listen("tcp4", args[0])
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go forward(conn.(*net.TCPConn))
	}
}

func forward(caller *net.TCPConn) {
	defer caller.Close()
	conn, err := net.Dial("tcp4", tcpOrigin)
	if err != nil {
		return
	}
	defer conn.Close()
	origin := conn.(*net.TCPConn)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(caller, origin) // an error ends the connection too
		_ = caller.CloseWrite()
	}()
	_, _ = io.Copy(origin, caller)
	_ = origin.CloseWrite()
	<-answered
}
