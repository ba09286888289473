//go:build !linux

package listen

import (
	"errors"
	"syscall"
)

// dropSYNs can be done on Linux only.
func dropSYNs(syscall.Conn) error { return errors.ErrUnsupported }
