//go:build unix

package devstack

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock without waiting, or answers errHeld. The file is opened
// close-on-exec, so children do not keep the lock after this process.
func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errHeld
	}
	return err
}

// owner returns who owns a file.
func owner(info os.FileInfo) (uid, gid uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return st.Uid, st.Gid, true
}
