//go:build !unix

package devstack

import (
	"errors"
	"os"
	"syscall"
)

// The stack needs a Unix. This file lets the rest of the binary compile
// elsewhere; Lock, which every start goes through, refuses.

func attributes(*account, syscall.Signal) *syscall.SysProcAttr { return nil }

func guard(int) (release func()) { return func() {} }

func alive(int) bool { return false }

func owner(os.FileInfo) (uid, gid uint32, ok bool) { return 0, 0, false }

func flock(*os.File) error {
	return errors.New("the development stack needs Linux, macOS or another Unix")
}
