//go:build unix && !linux

package devstack

import "syscall"

// attributes keeps a terminal's Ctrl-C from reaching the child: the stack ends
// its children in order. There is no parent-death signal here; see guard.
func attributes(as *account, _ syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Credential: as.credential()}
}

func guard(pid int) (release func()) { return watchdog(pid) }
