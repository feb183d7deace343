package main

import (
	"errors"
	"net"
	"testing"
)

// That nothing listens is shown by TestAProgramThatCannotStartSaysWhy; what a resolver says is not a test's to rely on.
func TestAnEndpointWithoutAHostIsNamed(t *testing.T) {
	s := settings{endpoint: "http://no-host.invalid:8000", table: "t.1"}
	missing := &net.DNSError{Err: "no such host", Name: "no-host.invalid", IsNotFound: true}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"no host":       {&net.OpError{Op: "dial", Net: "tcp", Err: missing}, "the host of http://no-host.invalid:8000 is not found: " + missing.Error()},
		"another fault": {errors.New("it has other keys"), "cannot use the table t.1 at http://no-host.invalid:8000: it has other keys"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := noTable(s, tt.err); got.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
