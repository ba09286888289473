package listen

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// dropSYNs has the kernel drop what would begin a new connection, and nothing else: handshakes under
// way are finished and can be accepted. A caller whose SYN is dropped sends it again after a second, by
// when the listener is closed and the kernel refuses it; without this, closing a listener resets the
// connections that wait to be accepted, with a request in them perhaps.
func dropSYNs(l syscall.Conn) error {
	const tcpFlags, syn, ack = 13, 0x02, 0x10 // RFC 9293 section 3.1; a socket filter sees the TCP header first
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: tcpFlags},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: syn | ack},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: syn, Jt: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1}, // keep all of the packet
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},         // drop it
	}
	raw, err := l.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
	if err != nil {
		return err
	}
	return set
}
