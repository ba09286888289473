package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// streams is what `bench streams` is to do: move bytes on connections, as fast as it goes.
type streams struct {
	Up          bool // to the origin
	Connections int
	Duration    time.Duration // measured, after a tenth of it has passed
}

// moved is what it found.
type moved struct {
	Bytes   int64 // in the time that is measured
	All     int64 // and before and after it
	Seconds float64
}

// block is what is ordered at a time. The wait between two blocks is next to nothing beside it.
const block = 64 << 20

func runStreams(args []string) error {
	var s streams
	if err := readTask(args, &s); err != nil {
		return err
	}
	begin := now()
	clock := stopwatch{from: begin + int64(s.Duration)/10, until: begin + int64(s.Duration)/10 + int64(s.Duration)}
	failed := make([]error, s.Connections)
	var running sync.WaitGroup
	for i := range s.Connections {
		running.Go(func() { failed[i] = clock.run(s.Up) })
	}
	running.Wait()
	for _, err := range failed {
		if err != nil {
			return fmt.Errorf("moving bytes: %w", err)
		}
	}
	clock.found.Seconds = s.Duration.Seconds()
	return json.NewEncoder(os.Stdout).Encode(clock.found)
}

// stopwatch counts what is moved, and what of it in the time that is measured.
type stopwatch struct {
	from, until int64
	mu          sync.Mutex
	found       moved
}

func (s *stopwatch) count(n int) {
	at := now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found.All += int64(n)
	if at >= s.from && at < s.until {
		s.found.Bytes += int64(n)
	}
}

// run moves blocks on one connection until time is up.
func (s *stopwatch) run(up bool) error {
	dialed, err := net.Dial("tcp4", tcpOrigin)
	if err != nil {
		return err
	}
	defer dialed.Close()
	conn := dialed.(*net.TCPConn)
	bytes := make([]byte, chunk)
	for now() < s.until {
		if up {
			err = s.put(conn, bytes)
		} else {
			err = s.get(conn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stopwatch) get(conn *net.TCPConn) error {
	if err := placeOrder(conn, orderDown, block); err != nil {
		return err
	}
	return discard(conn, block, s.count)
}

func (s *stopwatch) put(conn *net.TCPConn, bytes []byte) error {
	if err := placeOrder(conn, orderUp, block); err != nil {
		return err
	}
	if err := send(conn, bytes, block, s.count); err != nil {
		return err
	}
	var done [1]byte
	_, err := conn.Read(done[:])
	return err
}
