package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// What a caller asks of the raw origin by the first byte of each order. None is a letter, so that nobody takes it for
// HTTP.
const (
	orderEcho   = iota // the byte comes back
	orderDown          // and a size, big-endian: so many bytes are to be sent
	orderUp            // and a size: so many bytes follow, and a byte is to be sent when they have come
	orderMirror        // all that follows comes back
)

const (
	orderSize = 1 + 8
	chunk     = 256 << 10 // of one write, so that it stays in the cache
)

// runTCPOrigin obeys orders on each connection until its caller has ended it, and then ends it.
func runTCPOrigin([]string) error {
	l, err := net.Listen("tcp4", "0.0.0.0:"+tcpPort) // at the address that callers name, and at the one that rules give
	if err != nil {
		return err
	}
	block := make([]byte, chunk)
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for obey(conn.(*net.TCPConn), block) == nil {
			}
		}()
	}
}

func obey(conn *net.TCPConn, block []byte) error {
	var order [orderSize]byte
	if _, err := conn.Read(order[:1]); err != nil {
		return err
	}
	switch order[0] {
	case orderEcho:
		_, err := conn.Write(order[:1])
		return err
	case orderMirror:
		_, err := io.Copy(conn, conn)
		return errors.Join(err, io.EOF) // the caller has ended its side
	}
	if _, err := io.ReadFull(conn, order[1:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint64(order[1:]))
	switch order[0] {
	case orderDown:
		return send(conn, block, size, nil)
	case orderUp:
		if err := discard(conn, size, nil); err != nil {
			return err
		}
		_, err := conn.Write(order[:1])
		return err
	default:
		return fmt.Errorf("order %d is unknown", order[0])
	}
}

// placeOrder asks for a size.
func placeOrder(conn *net.TCPConn, order byte, size int64) error {
	_, err := conn.Write(binary.BigEndian.AppendUint64([]byte{order}, uint64(size)))
	return err
}

// send writes so many bytes and counts them.
func send(conn *net.TCPConn, block []byte, size int64, count func(n int)) error {
	for size > 0 {
		n, err := conn.Write(block[:min(size, int64(len(block)))])
		if err != nil {
			return err
		}
		size -= int64(n)
		if count != nil {
			count(n)
		}
	}
	return nil
}

// discard takes so many bytes and counts them. The kernel drops them (MSG_TRUNC, tcp(7)): what a reader does with bytes
// is not what is measured.
func discard(conn *net.TCPConn, size int64, count func(n int)) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	never := make([]byte, 4<<20) // not written to
	for size > 0 {
		var n int
		var taken error
		err := raw.Read(func(fd uintptr) bool {
			n, _, taken = unix.Recvfrom(int(fd), never[:min(size, int64(len(never)))], unix.MSG_TRUNC|unix.MSG_DONTWAIT)
			return !errors.Is(taken, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return err
		case taken != nil:
			return taken
		case n == 0:
			return io.ErrUnexpectedEOF
		}
		size -= int64(n)
		if count != nil {
			count(n)
		}
	}
	return nil
}
