package redirect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

func TestAMissingModuleIsNamed(t *testing.T) {
	for _, c := range []struct {
		name  string
		lacks []string // what occurs in a message that the kernel refuses
		errno syscall.Errno
		want  string
	}{
		{"no redirect", []string{"redir"}, syscall.ENOENT, "lacks nft_redir: `modprobe nft_redir`"},
		{"two", []string{"redir", "fib"}, syscall.ENOENT, "lacks nft_redir nft_fib_inet"},
		{"no address translation at all", []string{"nat", "redir", "fib", "socket"}, syscall.ENOENT, "lacks nft_chain_nat: "},
		{"iptables-legacy alone", []string{Table}, syscall.EOPNOTSUPP, "iptables-legacy alone are not supported"},
		{"no capability", []string{Table}, syscall.EPERM, "CAP_NET_ADMIN"},
		{"something else", []string{Table}, syscall.EBUSY, "device or resource busy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := lacking(c.errno, c.lacks...).install(plain())
			if !errors.Is(err, c.errno) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %v and %q", err, c.errno, c.want)
			}
		})
	}
}

func TestWithoutSocketMatchesTheRestIsInForce(t *testing.T) {
	if err := lacking(syscall.ENOENT, "socket").install(plain()); !errors.Is(err, ErrClosedPorts) {
		t.Errorf("got %v, want %v", err, ErrClosedPorts)
	}
	if err := lacking(syscall.ENOENT, "socket", "fib").install(plain()); errors.Is(err, ErrClosedPorts) || err == nil {
		t.Errorf("got %v, want an error: nothing is in force", err)
	}
}

func TestRemovingNothingIsNoError(t *testing.T) {
	if err := lacking(syscall.ENOENT, Table).remove(); err != nil {
		t.Error(err)
	}
	if err := lacking(syscall.EPERM, Table).remove(); !errors.Is(err, syscall.EPERM) {
		t.Errorf("got %v, want EPERM", err)
	}
}

// lacking is a kernel that refuses what has one of the names in it, and with it
// the batch.
func lacking(errno syscall.Errno, names ...string) kernel {
	var answers []netlink.Message
	answer := func(sent []netlink.Message) ([]netlink.Message, error) {
		if sent == nil {
			next := answers[:1]
			answers = answers[1:]
			return next, nil
		}
		answers = nil
		for _, m := range sent {
			if m.Header.Flags&netlink.Acknowledge == 0 {
				continue // where a batch begins and ends
			}
			code := int32(0)
			for _, name := range names {
				if bytes.Contains(m.Data, []byte(name+"\x00")) {
					code = -int32(errno)
				}
			}
			data := binary.NativeEndian.AppendUint32(nil, uint32(code))
			answers = append(answers, netlink.Message{
				Header: netlink.Header{Type: netlink.Error},
				Data:   append(data, make([]byte, unix.NLMSG_HDRLEN)...),
			})
		}
		return nil, nil
	}
	return kernel{options: []nftables.ConnOption{nftables.WithTestDial(answer)}}
}
