//go:build !goonly

package dynamotest

import "syscall"

// dieWithParent lets the kernel end the engine with the test process, also where that is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
