package http1

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never wait: every socket of package net is non-blocking. So they go to the
// kernel without telling the scheduler (RawSyscall), which would otherwise wake its monitor
// thread for each of them on a process that is mostly idle.

// recv reads what is there into p; EAGAIN if nothing is.
func recv(fd uintptr, p []byte, flags int) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), uintptr(flags), 0, 0)
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}

// send writes what the socket takes of p; EAGAIN if it takes nothing.
func send(fd uintptr, p []byte) (int, syscall.Errno) {
	for {
		n, _, errno := syscall.RawSyscall6(syscall.SYS_SENDTO, fd,
			uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)), syscall.MSG_NOSIGNAL, 0, 0)
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}

// vector is the scratch that sendTwo hands to the kernel.
type vector struct {
	iov [2]syscall.Iovec
	msg syscall.Msghdr
}

// sendTwo writes what the socket takes of a, then of b, in one call.
func sendTwo(fd uintptr, v *vector, a, b []byte) (int, syscall.Errno) {
	v.iov[0].Base, v.iov[1].Base = unsafe.SliceData(a), unsafe.SliceData(b)
	v.iov[0].SetLen(len(a))
	v.iov[1].SetLen(len(b))
	v.msg.Iov, v.msg.Iovlen = &v.iov[0], 2
	defer func() { v.iov[0].Base, v.iov[1].Base = nil, nil }()
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_SENDMSG, fd,
			uintptr(unsafe.Pointer(&v.msg)), syscall.MSG_NOSIGNAL)
		if errno != syscall.EINTR {
			return int(n), errno
		}
	}
}

// parting is how far the peer of a socket has gone.
type parting uint8

const (
	present parting = iota
	halfway         // it sends no more
	parted          // the connection is broken
)

// departed looks whether the peer has ended the connection, whatever is left to read.
func departed(fd uintptr) parting {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	if n, err := unix.Poll(p[:], 0); n == 0 || err != nil {
		return present
	}
	if p[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
		return parted
	}
	return halfway
}

// acknowledged is the number of bytes on this connection that the peer's kernel has taken so far.
func acknowledged(fd uintptr) (uint64, bool) {
	info, err := unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, false
	}
	return info.Bytes_acked, true
}

// monotonic is a clock in nanoseconds that never jumps.
func monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return t.Nano()
}
