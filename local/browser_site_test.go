//go:build !goonly

package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// called is a command of the protocol as a step; its answer is of no interest.
func called[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	})
}

// site is the local program, running on a day of sample data.
type site struct {
	base    string
	invited chan string // addresses by which somebody signs in, as they are printed
	end     func()      // it ends the program, before the test's end too
}

// newSite starts the program; it ends with the test.
func newSite(t testing.TB, change func(*settings)) *site {
	t.Helper()
	s := settings{addr: "127.0.0.1:0", data: t.TempDir(), token: testToken, refillEvery: time.Hour, demo: true}
	if change != nil {
		change(&s)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, s, slog.New(slog.DiscardHandler), write)
		write.CloseWithError(io.EOF)
		ended <- err
	}()
	p := &site{invited: make(chan string, 8)}
	go func() {
		defer close(p.invited)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if m := invitation.FindStringSubmatch(lines.Text()); m != nil {
				p.invited <- m[1] + m[2] + "?code=" + m[3]
			}
		}
	}()
	p.end = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	t.Cleanup(p.end)
	return p
}

// invitation is the next address to sign in at that the program prints.
func (s *site) invitation(t testing.TB) string {
	t.Helper()
	address, ok := <-s.invited
	if !ok {
		t.Fatal("the program ended before it printed an address to sign in at")
	}
	s.base, _, _ = strings.Cut(address, "/signin/")
	return address
}

// signedIn opens a tab and signs in by the address that the program printed.
func (s *site) signedIn(t testing.TB, b browser) *tab {
	t.Helper()
	address := s.invitation(t)
	p := b.open(t, s.base)
	p.visit(address)
	p.must("sign in", chromedp.Click(`main button`), chromedp.WaitVisible(`.who`))
	return p
}
