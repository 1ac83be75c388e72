//go:build unix

package devstack

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// credential is nil, the user of this process, for a nil account.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

// watchdog starts a shell that holds the reading end of a pipe. When this
// process dies, however it dies, the pipe closes and the shell interrupts the
// child, then kills it. It serves systems that have no parent-death signal;
// where even the shell cannot be started, the next start finds what was left.
func watchdog(pid int) (release func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	const script = `read -r _ && exit; kill -INT "$1"; sleep 3; kill -KILL "$1"`
	cmd := exec.Command("/bin/sh", "-c", script, "watchdog", strconv.Itoa(pid))
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return func() {}
	}
	return func() {
		_, _ = w.WriteString("ended\n")
		_ = w.Close()
		_ = cmd.Wait()
	}
}

// alive reports whether a process with this id exists, whoever owns it.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}
