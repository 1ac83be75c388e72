//go:build unix

package devstack

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// credential is nil, the user of this process, for a nil account.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid}
}

const watchdogScript = `read -r _ && exit; kill -INT "$1"; sleep 3; kill -KILL "$1"`

// watchdog starts a shell that holds the reading end of a pipe. When this
// process dies, however it dies, the pipe closes and the shell interrupts the
// child, then kills it. It serves systems that have no parent-death signal;
// where even the shell cannot be started, the next start finds what was left.
func watchdog(pid int) (release func()) {
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog", strconv.Itoa(pid))
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

// alive reports whether a process with this id runs, whoever owns it. One that
// has ended and that nobody waits for, as in containers without an init, does
// not.
func alive(pid int) bool {
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		// pid (name) state …, and the name may hold anything
		if _, state, ok := cutLast(string(stat), ") "); ok && strings.HasPrefix(state, "Z") {
			return false
		}
	}
	err := syscall.Kill(pid, 0)
	return err == nil || err == syscall.EPERM
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
