//go:build !goonly && !linux

package dynamotest

import "syscall"

// dieWithParent has no counterpart here: a test process that is killed leaves its engine behind.
func dieWithParent() *syscall.SysProcAttr { return nil }
