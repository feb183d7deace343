package alloc_test

import (
	"context"
	"testing"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// asAdmin is a context of a caller with all scopes.
func asAdmin(ctx context.Context) context.Context { return as(ctx, "admin", alloc.AllScopes()...) }

func as(ctx context.Context, client alloc.ClientID, scopes ...alloc.Scope) context.Context {
	return alloc.WithCaller(ctx, alloc.Caller{Client: client, Scopes: scopes, Request: "r-1", Address: "192.0.2.1"})
}

// encoders has one format: an ID a line.
var encoders = map[string]alloc.Encoder{"lines": func(ids []alloc.IDRecord) (text []byte, err error) {
	for _, id := range ids {
		text = append(append(text, id.ID...), '\n')
	}
	return text, nil
}}

// newService returns a Service over the store, on the time of the bubble or of the machine.
func newService(t testing.TB, store alloc.Store) *alloc.Service {
	t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: store, Encoders: encoders, Log: logCodec})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newPool makes a Service over an empty model with one pool.
func newPool(t testing.TB, config alloc.PoolConfig) (*alloc.Service, *alloctest.Model) {
	t.Helper()
	m := alloctest.NewModel(nil)
	s := newService(t, m)
	if _, _, err := s.CreatePool(asAdmin(t.Context()), "vouchers", config); err != nil {
		t.Fatal(err)
	}
	return s, m
}

// wantCode fails the test unless err carries the code, and returns it.
func wantCode(t testing.TB, err error, code alloc.Code) *alloc.Error {
	t.Helper()
	e, ok := err.(*alloc.Error) //nolint:errorlint // the Service's own errors are not wrapped
	if !ok || e.Code != code {
		t.Fatalf("got error %v, want %s", err, code)
	}
	return e
}
