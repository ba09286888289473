package tcp

import (
	"errors"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUrgentBytesStayUrgentAndHoldNothingUp(t *testing.T) {
	for _, before := range []string{"", "before"} {
		for _, side := range []string{"caller", "origin"} {
			t.Run(before+" by "+side, func(t *testing.T) {
				pair := relay(t, &Relay{})
				sender, receiver := pair.caller, pair.origin
				if side == "origin" {
					sender, receiver = receiver, sender
				}
				if before != "" {
					write(t, sender, before)
				}
				sayUrgent(t, sender, '!')
				write(t, sender, "behind")
				expect(t, receiver, before)
				if got := urgentByte(t, receiver); got != '!' {
					t.Errorf("got urgent byte %q, want !", got)
				}
				expect(t, receiver, "behind") // a plain read leaves urgent bytes out
				write(t, sender, " and more")
				expect(t, receiver, " and more")
				closeWrite(t, sender)
				closeWrite(t, receiver)
				if got, want := pair.flow(t), uint64(len(before+"!behind and more")); got.Err != nil || got.ToOrigin+got.ToCaller != want {
					t.Errorf("got %+v, want %d bytes in all", got, want)
				}
			})
		}
	}
}

// Of several that come at once the kernel keeps the last, and may be asked too late.
func TestAnUrgentByteThatIsGoneIsPassedOver(t *testing.T) {
	pair := relay(t, &Relay{})
	sender, from := connected(t)
	write(t, sender, "behind")
	if n, err := passUrgent(pair.caller, from); n != len("behind") || err != nil {
		t.Errorf("got %d, %v, want the %d bytes behind it", n, err, len("behind"))
	}
	expect(t, pair.origin, "behind")
}

func sayUrgent(t *testing.T, conn *net.TCPConn, b byte) {
	t.Helper()
	control(t, conn, func(fd int) error { return unix.Send(fd, []byte{b}, unix.MSG_OOB) })
}

func urgentByte(t *testing.T, conn *net.TCPConn) byte {
	t.Helper()
	var b [1]byte
	control(t, conn, func(fd int) error {
		for {
			_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}, int(patience.Milliseconds()))
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINTR) {
				return err
			}
		}
		_, _, err := unix.Recvfrom(fd, b[:], unix.MSG_OOB)
		return err
	})
	return b[0]
}

func control(t *testing.T, conn *net.TCPConn, call func(fd int) error) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var called error
	if err := raw.Control(func(fd uintptr) { called = call(int(fd)) }); err != nil || called != nil {
		t.Fatalf("got %v, %v", err, called)
	}
}
