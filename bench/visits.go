package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// visits is what `bench visits` is to do: connect, send a byte, get it back, close.
type visits struct {
	AtOnce   int
	Rate     int           // connections a second; 0: as many as end
	Duration time.Duration // measured, after a tenth of it has passed
	Stay     int           // in place of Duration: so many, which stay open until stdin ends
}

// runVisits plays the callers: one thread, as runLoad is.
func runVisits(args []string) error {
	var v visits
	if err := readTask(args, &v); err != nil {
		return err
	}
	if err := steady(); err != nil {
		return err
	}
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	to, err := netip.ParseAddrPort(tcpOrigin)
	if err != nil {
		return err
	}
	c := &visitors{visits: v, to: to, epoll: epoll, began: map[int32]int64{}, events: make([]unix.EpollEvent, 256)}
	result, err := c.play()
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		return err
	}
	if v.Stay > 0 {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until whoever started this has looked
	}
	return nil
}

// visitors are connections that wait for their byte.
type visitors struct {
	visits
	to     netip.AddrPort
	epoll  int
	began  map[int32]int64 // when each was due
	made   int
	events []unix.EpollEvent
}

func (v *visitors) play() (found, error) {
	warm, begin := v.Duration/10, now()
	from, until, left := begin+int64(warm), begin+int64(warm+v.Duration), math.MaxInt
	if v.Stay > 0 {
		until, left = begin+int64(time.Minute), v.Stay
	}
	due := schedule{next: begin}
	if v.Rate > 0 {
		due.gap = int64(time.Second) / int64(v.Rate)
	}
	latencies := make([]int64, 0, 1<<18)
	result := found{Seconds: v.Duration.Seconds()}
	for {
		at := now()
		for left > 0 && at < until && due.now(at) && len(v.began) < v.AtOnce {
			if err := v.visit(due.take(at)); err != nil {
				return result, fmt.Errorf("connection %d: %w", v.made, err)
			}
			left--
		}
		going := left > 0 && at < until
		if !going && len(v.began) == 0 {
			break
		}
		if at > until+int64(10*time.Second) {
			return result, fmt.Errorf("%d connections wait for an answer", len(v.began))
		}
		answered, err := v.wait(due.sleep(at, going && len(v.began) < v.AtOnce))
		if err != nil {
			return result, err
		}
		at = now()
		for _, due := range answered {
			result.All++
			if due >= from && at <= until {
				result.Requests++
				latencies = append(latencies, at-due)
			}
		}
	}
	slices.Sort(latencies)
	result.P50, result.P99 = quantile(latencies, 50), quantile(latencies, 99)
	return result, nil
}

// visit connects and sends a byte. On loopback connecting does not wait.
func (v *visitors) visit(due int64) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	// Callers have many addresses beside the origin's, so that none runs out of ports.
	v.made++
	from := unix.SockaddrInet4{Addr: v.to.Addr().As4()}
	from.Addr[3] += byte(1 + v.made%200)
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
		return err
	}
	if err := unix.Bind(fd, &from); err != nil {
		return err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(v.to.Port()), Addr: v.to.Addr().As4()}); err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte{orderEcho}); err != nil {
		return err
	}
	v.began[int32(fd)] = due
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}
	return unix.EpollCtl(v.epoll, unix.EPOLL_CTL_ADD, fd, &event)
}

// wait takes the bytes that have come, or come within so many nanoseconds, and gives when their connections were due.
func (v *visitors) wait(limit int64) ([]int64, error) {
	timeout := unix.NsecToTimespec(limit)
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(v.epoll), uintptr(unsafe.Pointer(&v.events[0])),
		uintptr(len(v.events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
	switch errno {
	case 0:
	case unix.EINTR:
		return nil, nil
	default:
		return nil, fmt.Errorf("epoll: %w", errno)
	}
	var answered []int64
	for _, event := range v.events[:n] {
		var b [1]byte
		if n, err := unix.Read(int(event.Fd), b[:]); n != 1 || b[0] != orderEcho {
			return nil, fmt.Errorf("%d bytes came in answer: %w", n, err)
		}
		answered = append(answered, v.began[event.Fd])
		if err := v.leave(event.Fd); err != nil {
			return nil, err
		}
	}
	return answered, nil
}

// leave closes a connection, or leaves it as it is.
func (v *visitors) leave(fd int32) error {
	delete(v.began, fd)
	if v.Stay > 0 {
		return unix.EpollCtl(v.epoll, unix.EPOLL_CTL_DEL, int(fd), nil)
	}
	return unix.Close(int(fd))
}
