package main

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// callers are connections that one thread serves by epoll.
type callers struct {
	all      []*caller
	byFD     map[int32]*caller
	idle     []*caller // first in, first out, so that all of them are used
	epoll    int
	requests [4][]byte
	sent     int
	mixed    bool
	buf      []byte
	events   []unix.EpollEvent
	done     []reply
}

// caller is one connection, with at most one request under way.
type caller struct {
	fd   int
	due  int64
	gray bool
	head []byte // of the reply, until it is whole
	got  int    // bytes of the reply that came with the head
	left int    // bytes of the reply to come; -1: the head is not whole
	busy bool
}

// reply is a request that was answered. right: with 200, from the origin that it was for.
type reply struct {
	due   int64
	right bool
}

// connect opens all connections, and writes the requests: gray or base, with and without a trace.
func connect(l load) (*callers, error) {
	c := &callers{byFD: map[int32]*caller{}, mixed: l.Mixed, buf: make([]byte, 256<<10), events: make([]unix.EpollEvent, 256)}
	common := "GET /" + strconv.Itoa(l.Size) + " HTTP/1.1\r\nHost: " + hostName +
		"\r\nUser-Agent: bench/1.0\r\nAccept: */*\r\nX-Request-Id: 6f1c2d3e-4a5b-4c6d-8e7f-909192939495\r\n"
	const gray, parent = "X-Gray: gray\r\n", "traceparent: " + exampleParent + "\r\n"
	for i, lines := range []string{gray + parent, parent, gray, ""} {
		c.requests[i] = []byte(common + lines + "\r\n")
	}
	var err error
	if c.epoll, err = unix.EpollCreate1(0); err != nil {
		return nil, err
	}
	to, err := netip.ParseAddrPort(l.Address)
	if err != nil {
		return nil, err
	}
	for range l.Connections {
		k, err := c.dial(to)
		if err != nil {
			return nil, fmt.Errorf("connection %d to %s: %w", len(c.all), l.Address, err)
		}
		c.all, c.idle, c.byFD[int32(k.fd)] = append(c.all, k), append(c.idle, k), k
	}
	return c, nil
}

func (c *callers) dial(to netip.AddrPort) (*caller, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}); err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return nil, err
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return &caller{fd: fd, head: make([]byte, 0, 512)}, unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

// under is how many requests are under way.
func (c *callers) under() int { return len(c.all) - len(c.idle) }

// ready says that another may be sent, of so many at once.
func (c *callers) ready(atOnce int) bool { return len(c.idle) > 0 && c.under() < atOnce }

// send sends the next request on the connection that has been idle longest.
func (c *callers) send(due int64) error {
	k := c.idle[0]
	c.idle = c.idle[1:]
	n := c.sent % len(c.requests)
	c.sent++
	k.busy, k.due, k.gray, k.got, k.left, k.head = true, due, n%2 == 0, 0, -1, k.head[:0]
	request := c.requests[n]
	if n, err := unix.Write(k.fd, request); n != len(request) {
		return fmt.Errorf("%d of %d bytes sent: %w", n, len(request), err)
	}
	return nil
}

// wait reads what has come, or comes within so many nanoseconds. The replies are valid until the next wait.
func (c *callers) wait(limit int64) ([]reply, error) {
	c.done = c.done[:0]
	timeout := unix.NsecToTimespec(limit)
	// Raw: nothing else runs in this process that the Go scheduler would have to hear of.
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(c.epoll), uintptr(unsafe.Pointer(&c.events[0])),
		uintptr(len(c.events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	switch errno {
	case 0:
	case unix.EINTR:
		n = 0
	default:
		return nil, fmt.Errorf("epoll: %w", errno)
	}
	for _, event := range c.events[:n] {
		if err := c.read(c.byFD[event.Fd]); err != nil {
			return nil, err
		}
	}
	return c.done, nil
}

func (c *callers) read(k *caller) error {
	n, err := unix.Read(k.fd, c.buf)
	switch {
	case err == unix.EAGAIN:
		return nil
	case err != nil || n == 0:
		return fmt.Errorf("the connection ended after %d requests: %w", c.sent, err)
	case !k.busy:
		return fmt.Errorf("bytes that nobody asked for: %q", c.buf[:n])
	}
	if k.left < 0 {
		if err := k.measure(c.buf[:n]); err != nil || k.left < 0 {
			return err
		}
	} else {
		k.left -= n
	}
	if k.left > 0 {
		return nil
	}
	k.busy = false
	c.idle = append(c.idle, k)
	c.done = append(c.done, reply{due: k.due, right: c.right(k)})
	return nil
}

// measure reads on in the head, to know how long the reply is.
func (k *caller) measure(b []byte) error {
	const enough = 4 << 10 // for a head and the beginning of a body
	k.got += len(b)
	k.head = append(k.head, b[:min(len(b), enough)]...)
	end := bytes.Index(k.head, []byte("\r\n\r\n"))
	if end < 0 {
		return nil
	}
	k.head = k.head[:end+2]
	lower(k.head) // some proxies write names their own way
	at := bytes.Index(k.head, []byte("\r\ncontent-length: "))
	if at < 0 {
		return fmt.Errorf("a reply without a length: %q", k.head)
	}
	value, _, _ := bytes.Cut(k.head[at+len("\r\ncontent-length: "):], []byte("\r\n"))
	size, err := strconv.Atoi(string(value))
	k.left = end + 4 + size - k.got
	return err
}

func lower(b []byte) {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
}

func (c *callers) right(k *caller) bool {
	from := fromBase
	if k.gray && c.mixed {
		from = fromGray
	}
	return bytes.HasPrefix(k.head, []byte("http/1.1 200 ")) && bytes.Contains(k.head, []byte(from))
}

// as heads are written in lower case
const (
	fromBase = "\r\nx-served-by: base\r\n"
	fromGray = "\r\nx-served-by: gray\r\n"
)
