package harness

import "syscall"

// withParent makes the kernel end a child when the test binary dies, however it dies.
func withParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
