//go:build !linux

package harness

import "syscall"

// withParent asks for nothing: only Linux can end a child with its parent.
func withParent() *syscall.SysProcAttr { return nil }
