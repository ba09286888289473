package tcp

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errUrgent says that an urgent byte (RFC 9293, 3.8.5) is next, and that there is
// more behind it. A splice waits there forever.
var errUrgent = errors.New("an urgent byte is next")

// passUrgent passes an urgent byte on as one, and some of what is behind it: the
// kernel is past the urgent byte only when that is read.
func passUrgent(to, from *net.TCPConn) (int, error) {
	source, err := from.SyscallConn()
	if err != nil {
		return 0, err
	}
	target, err := to.SyscallConn()
	if err != nil {
		return 0, err
	}
	var urgent [1]byte
	var tried error
	err = source.Control(func(fd uintptr) {
		_, _, tried = unix.Recvfrom(int(fd), urgent[:], unix.MSG_OOB)
	})
	passed := 0
	switch {
	case err != nil:
		return 0, err
	case errors.Is(tried, unix.EAGAIN), errors.Is(tried, unix.EINVAL):
		// Another one is coming, and the kernel has dropped this one for it.
	case tried != nil:
		return 0, os.NewSyscallError("recv", tried)
	default:
		if err := sendUrgent(target, urgent[:]); err != nil {
			return 0, err
		}
		passed = 1
	}
	var behind [512]byte
	n, err := from.Read(behind[:])
	if err != nil {
		return passed, err
	}
	n, err = to.Write(behind[:n])
	return passed + n, err
}

func sendUrgent(target syscall.RawConn, b []byte) error {
	var tried error
	err := target.Write(func(fd uintptr) bool {
		tried = unix.Send(int(fd), b, unix.MSG_OOB)
		return !errors.Is(tried, unix.EAGAIN)
	})
	return errors.Join(err, os.NewSyscallError("send", tried))
}
