// Package netns gives tests networks of their own, made of Linux network namespaces.
//
// A namespace here has no name and belongs to one thread of the test's process,
// so that it is gone with the process, however that ends. It takes root; a test
// of somebody who is not root is skipped, anywhere else it fails.
package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long anything in a namespace may take before the test fails:
// far above what a loaded machine needs.
const patience = time.Minute

// Space is a network namespace with loopback up.
type Space struct {
	name string
	tid  int
	work chan func()
}

// New makes a namespace that ends with the test. The name is for messages.
func New(t testing.TB, name string) *Space {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("needs root, for network namespaces")
		}
		t.Skip("needs root, for network namespaces: run the tests of this package with sudo")
	}
	s := &Space{name: name, work: make(chan func())}
	made := make(chan error)
	go s.serve(made)
	if err := <-made; err != nil {
		t.Fatalf("making network namespace %s: %v", name, err)
	}
	t.Cleanup(func() { close(s.work) })
	s.Run(t, "ip", "link", "set", "lo", "up")
	return s
}

// serve owns the thread. It is never unlocked, so that the thread, and the
// namespace with it, ends when serve returns.
func (s *Space) serve(made chan<- error) {
	runtime.LockOSThread()
	s.tid = unix.Gettid()
	err := unix.Unshare(unix.CLONE_NEWNET)
	made <- err
	if err != nil {
		return
	}
	for f := range s.work {
		f()
	}
}

// Do runs f on the namespace's thread and waits for it. Sockets that f opens and
// processes that it starts are in the namespace, for good; goroutines are not. f
// must not fail the test itself, since it is in another goroutine.
func (s *Space) Do(f func() error) error {
	done := make(chan error)
	s.work <- func() { done <- f() }
	return <-done
}

// As is Do with sockets that belong to a user, without becoming that user.
func (s *Space) As(uid int, f func() error) error {
	return s.Do(func() error {
		// A socket belongs to the filesystem user of the thread that makes it.
		before, err := unix.SetfsuidRetUid(uid)
		if err != nil {
			return err
		}
		err = f()
		_, undo := unix.SetfsuidRetUid(before)
		return errors.Join(err, undo)
	})
}

// Start starts a process in the namespace.
func (s *Space) Start(cmd *exec.Cmd) error { return s.Do(cmd.Start) }

// Run runs a command in the namespace, gives what it printed, and fails the test
// if it fails.
func (s *Space) Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out []byte
	err := s.Do(func() (err error) {
		out, err = cmd.CombinedOutput()
		return err
	})
	if err != nil {
		t.Fatalf("%s: %s %s: %v\n%s", s.name, name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Listen listens in the namespace until the test ends.
func (s *Space) Listen(t testing.TB, addr string) *net.TCPListener {
	t.Helper()
	var l net.Listener
	config := net.ListenConfig{}
	config.SetMultipathTCP(false) // as the sidecar does
	err := s.Do(func() (err error) {
		l, err = config.Listen(context.Background(), "tcp", addr)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// Dial connects in the namespace as a user. The connection is closed when the
// test ends.
func (s *Space) Dial(t testing.TB, uid int, addr string) (*net.TCPConn, error) {
	t.Helper()
	dialer := net.Dialer{Timeout: patience}
	dialer.SetMultipathTCP(false)
	var conn net.Conn
	err := s.As(uid, func() (err error) {
		conn, err = dialer.Dial("tcp", addr)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn), nil
}

// Wire connects two namespaces by a cable: device is its end in s, peerDevice
// that in peer. Neither has an address yet.
func (s *Space) Wire(t testing.TB, device string, peer *Space, peerDevice string) {
	t.Helper()
	s.Run(t, "ip", "link", "add", device, "type", "veth", "peer", "name", peerDevice, "netns", strconv.Itoa(peer.tid))
	s.Run(t, "ip", "link", "set", device, "up")
	peer.Run(t, "ip", "link", "set", peerDevice, "up")
}

// Address gives a device addresses, each with its prefix length.
func (s *Space) Address(t testing.TB, device string, addrs ...string) {
	t.Helper()
	for _, addr := range addrs {
		args := []string{"addr", "add", addr, "dev", device}
		if strings.Contains(addr, ":") {
			args = append(args, "nodad") // else it cannot be used for a second
		}
		s.Run(t, "ip", args...)
	}
}

// String gives the name.
func (s *Space) String() string { return fmt.Sprintf("network namespace %s", s.name) }
