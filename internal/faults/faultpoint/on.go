//go:build faultpoints

package faultpoint

import (
	"os"
	"path/filepath"
)

var dir = os.Getenv(DirVariable)

// Here ends the process, as SIGKILL does, if the point is armed.
func Here(point string) {
	if dir == "" || os.Remove(filepath.Join(dir, point)) != nil {
		return
	}
	_, _ = os.Stderr.WriteString(Died + point + "\n")
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing more happens here
}
