package devstack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// errHeld is what flock answers when another process holds the lock.
var errHeld = errors.New("lock is held")

// InUseError says that a directory belongs to another stack that is running.
type InUseError struct {
	Dir string
	// PID is the process that holds it; 0 when it did not say.
	PID int
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("%s is in use by %s: stop it, or choose another directory", e.Dir, who)
}

// held keeps the files reachable: a caller may drop its DirLock and mean to
// hold it, and a file that is collected is closed.
var held sync.Map

// DirLock is held until Unlock or the end of the process.
type DirLock struct{ file *os.File }

// Lock claims dir, which is made if missing, for one development stack. It
// returns *InUseError at once when a living process holds it; a lock left by a
// process that was killed is free. StartPostgres and StartTemporal hold locks
// of their own beside it, so either can be used alone.
func Lock(dir string) (*DirLock, error) { return lock(dir, "stack.lock") }

func lock(dir, name string) (*DirLock, error) {
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		defer func() { _ = f.Close() }()
		if !errors.Is(err, errHeld) {
			return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
		text, _ := io.ReadAll(io.LimitReader(f, 32))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		return nil, &InUseError{Dir: dir, PID: pid}
	}
	if err := f.Truncate(0); err != nil {
		_ = f.Close()
		return nil, err
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	held.Store(f, nil)
	return &DirLock{file: f}, nil
}

// Unlock lets the directory go. A second call does nothing. The file stays:
// removing it would let two processes lock two files of the same name.
func (l *DirLock) Unlock() {
	if l != nil && l.file != nil {
		held.Delete(l.file)
		_ = l.file.Close()
		l.file = nil
	}
}
