package devstack

import "syscall"

// attributes lets the kernel end the child with this process, and keeps a
// terminal's Ctrl-C from reaching it: the stack ends its children in order.
func attributes(as *account, onDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: onDeath, Credential: as.credential()}
}

// guard has nothing to do where the kernel watches over the parent.
func guard(int) (release func()) { return func() {} }
