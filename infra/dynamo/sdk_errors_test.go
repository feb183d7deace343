package dynamo_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"idpool/alloc"
)

// TestAStoreThatIsNotThereIsNotCalledSlow tells apart what its administrator does next: to start it, or to wait for it.
func TestAStoreThatIsNotThereIsNotCalledSlow(t *testing.T) {
	dial := func(cause error) func() (*http.Response, error) {
		return func() (*http.Response, error) { return nil, &net.OpError{Op: "dial", Net: "tcp", Err: cause} }
	}
	for name, tt := range map[string]struct {
		answer func() (*http.Response, error)
		want   string
	}{
		"nothing listens":           {notConnected, "the store cannot be reached"},
		"its name has no address":   {dial(&net.DNSError{Name: "no-host.invalid", IsNotFound: true}), "the store cannot be reached"},
		"no connection in its time": {dial(context.DeadlineExceeded), "the store did not answer in time"},
		"the connection broke":      {reset, "the store did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := methods[0].call(t.Context(), wired(t, &wire{answer: always(tt.answer)}))
				if e, ok := errors.AsType[*alloc.Error](err); !ok || !strings.HasPrefix(e.Message, tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
			})
		})
	}
}
