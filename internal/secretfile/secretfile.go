package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxBytes is the largest file that Read returns.
const MaxBytes = 64 << 10

// Read returns the content of path, of at most MaxBytes.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing to lose
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, MaxBytes)
	}
	return data, nil
}

// Ensure returns the content of path. Where there is no such file it first
// writes one, mode 0600, with what generate returns; its folder must exist. Of
// several processes that do so at once one wins, and all return its content.
func Ensure(path string, generate func() ([]byte, error)) ([]byte, error) {
	data, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	fresh, err := generate()
	if err != nil {
		return nil, err
	}
	if err := create(path, fresh); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Read(path)
}

// create writes a temporary file and links it into place: unlike a rename, a
// link fails when the name is taken.
func create(path string, data []byte) error {
	// CreateTemp opens with mode 0600.
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
