package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	isolatedEnv = "GRAYLANE_BENCH_ISOLATED"
	niceness    = -15 // before whatever else the machine does
)

// isolated says that this process is the one that isolate started.
func isolated() bool { return os.Getenv(isolatedEnv) != "" }

// isolate runs this program again in a network namespace and a session of its own, and waits for it. The session gets
// the priority too, since Linux weighs sessions first and processes inside them.
func isolate() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("only root can make a network namespace and pin processes to cores")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), isolatedEnv+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setsid: true, Pdeathsig: syscall.SIGKILL}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		<-interrupts
		_ = cmd.Process.Kill() // its children end with it
	}()
	return cmd.Wait()
}

// settle brings loopback up and takes the priority.
func settle() error {
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, niceness); err != nil {
		return fmt.Errorf("set the priority: %w", err)
	}
	err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", os.Getpid()), fmt.Append(nil, niceness), 0o600)
	if errors.Is(err, os.ErrNotExist) { // a kernel that does not weigh sessions
		return nil
	}
	return err
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}
