//go:build !linux

package main

import "syscall"

// apart leaves a child in the demo's process group: Ctrl-C ends it too.
func apart() *syscall.SysProcAttr { return nil }
