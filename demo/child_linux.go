package main

import "syscall"

// apart puts a child into a process group of its own, so that Ctrl-C reaches the demo alone, which then ends its
// children in order; and has the kernel end the child when the demo dies without doing so.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
