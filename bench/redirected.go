package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// proxyUser is whose calls the rules leave alone. It is not 1337, as in pods: the kernel limits what all pipes of one user
// take, and another sidecar of this machine would count.
const proxyUser = 13370

// prepareNetwork gives loopback the origin's address, and room for many short connections.
func prepareNetwork() error {
	if err := addLoopback(tcpAddress); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"ipv4/ip_local_port_range": "20000 65000",
		"ipv4/tcp_tw_reuse":        "1", // ports of connections that are over, after a second
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

// forgetEarly has the kernel's tracking, which is there from the first rule on, forget connections that are over: two
// minutes of them are more than its table holds.
func forgetEarly() error {
	for _, state := range []string{"time_wait", "close_wait", "last_ack", "close"} {
		name := "/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_" + state
		if err := os.WriteFile(name, []byte("1"), 0); err != nil {
			return err
		}
	}
	return nil
}

// addLoopback gives loopback one more IPv4 address; all others of its network become local by that.
func addLoopback(address string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	alias, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	if err := alias.SetInet4Addr(net.ParseIP(address).To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, alias)
}

// redirect brings callers of the origin to the contestant. The rules are those of the sidecar for everybody.
func (t *tcpContest) redirect(c contestant) error {
	_, port, err := net.SplitHostPort(c.address)
	if err != nil {
		return err
	}
	cmd := exec.Command(t.sidecar, "redirect", "--uid", strconv.Itoa(proxyUser), "--outbound-port", port,
		"--outbound-include-peers", tcpAddress)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("redirecting to %s: %w: %s", c.name, err, text)
	}
	return forgetEarly()
}

// asUser has a command run as the user whose calls are left alone.
func asUser(command []string) []string {
	user := strconv.Itoa(proxyUser)
	return append([]string{"setpriv", "--reuid", user, "--regid", user, "--clear-groups"}, command...)
}

// moveIn puts what that user is to run where it may read: it has no access to other people's folders.
func (t *tcpContest) moveIn() error {
	for path, name := range map[*string]string{&t.sidecar: "sidecar", &t.self: "bench"} {
		inside := filepath.Join(t.dir, name)
		if err := copyProgram(inside, *path); err != nil {
			return err
		}
		*path = inside
	}
	return os.Chown(t.dir, proxyUser, proxyUser)
}

func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
