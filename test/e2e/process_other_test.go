//go:build !linux

package e2e

import "syscall"

// withParent asks for nothing: only Linux can end a child with its parent.
func withParent() *syscall.SysProcAttr { return nil }
