package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSIGTERMAnswersWhatIsInWork ends the program in the middle of a storm, while one request's body is half sent. That
// request is answered, every other one is either answered in full or not taken at all, and what was answered is kept.
func TestSIGTERMAnswersWhatIsInWork(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		p := launch(t, e.flags()...)
		must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p"})
		ids := make([]string, 2000)
		for i := range ids {
			ids[i] = fmt.Sprintf("ID-%d", i)
		}
		must[seedSeen](t, p, http.StatusOK, request{method: "POST", path: "/v1/pools/p/seed", body: strings.Join(ids, "\n"), contentType: "text/plain"})

		half, send := io.Pipe()
		slow := make(chan answer, 1)
		go func() { slow <- postSlowly(t, p, half) }()
		io.WriteString(send, "LATE-1\n") // the answer shows it; it returns when the program has asked for the body

		taken := make(chan string, len(ids))
		var storm sync.WaitGroup
		for range 8 {
			storm.Go(func() { claimUntilRefused(t, p, taken) })
		}
		for range 20 {
			taken <- <-taken // the storm is on
		}
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		storm.Wait()
		io.WriteString(send, "LATE-2\n") // the answer shows it
		send.Close()
		if a := <-slow; a.status != http.StatusOK || decode[seedSeen](t, a.body).Added != 2 {
			t.Errorf("the request that was in work got %d %s", a.status, a.body)
		}
		if err := p.wait(); err != nil {
			t.Errorf("the end was not clean: %v: %s", err, p.errs)
		}
		if out := p.output(); !strings.Contains(out, "ending;") || strings.Contains(p.errs.String(), "level=ERROR") {
			t.Errorf("output %q, errors %q", out, p.errs)
		}

		close(taken)
		after := launch(t, e.flags()...)
		seen := map[string]bool{}
		for id := range taken {
			if seen[id] {
				t.Errorf("%q was handed out twice", id)
			}
			seen[id] = true
			r := request{method: "GET", path: "/v1/pools/p/ids?id=" + url.QueryEscape(id)}
			if got := must[idSeen](t, after, http.StatusOK, r); got.State != "claimed" {
				t.Errorf("%q was acknowledged as claimed and is %s", id, got.State)
			}
		}
		if level := sweptLevel(t, after, "p"); level.sum() != level.Seeded || level.Seeded != len(ids)+2 || level.Claimed != len(seen) {
			t.Errorf("level %+v, want %d seeded and exactly the %d acknowledged claimed", level, len(ids)+2, len(seen))
		}
	})
}

// postSlowly sends nothing of the body before the program, at work on the request, asks for it.
func postSlowly(t *testing.T, p *program, body io.Reader) answer {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/pools/p/seed", body)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	req.Header.Set("Authorization", "Bearer "+testToken)
	req.Header.Set("Content-Type", "text/plain")
	req.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: 2 * time.Minute}).Do(req)
	if err != nil {
		t.Errorf("the request that was in work: %v", err)
		return answer{}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{resp.StatusCode, resp.Header, text}
}

// claimUntilRefused claims until a request does not get through. net/http closes a connection without an answer where it
// has read a request but not begun with it: that is a refusal too, and the count of claimed IDs shows it.
func claimUntilRefused(t *testing.T, p *program, taken chan<- string) {
	client := newClient(t)
	for {
		a, err := request{method: "POST", path: "/v1/pools/p/claims"}.do(t.Context(), client, p.url)
		switch {
		case err != nil && a.status == 0:
			return
		case err != nil:
			t.Errorf("an answer was cut short: %v", err)
			return
		case a.status == http.StatusServiceUnavailable:
			backOff()
		case a.status != http.StatusCreated:
			t.Errorf("claim: %d %s", a.status, a.body)
			return
		default:
			taken <- decode[claimSeen](t, a.body).IDs[0]
		}
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	p := launch(t, newSQLite(t).flags()...)
	must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p"})
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://")) // it is a connection to this machine
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/pools/p/seed HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: text/plain\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", testToken)
	first := make([]byte, 12)
	if _, err := io.ReadFull(conn, first); err != nil || string(first) != "HTTP/1.1 100" {
		t.Fatalf("%q, %v: want the program to wait for the body", first, err)
	}
	begin := time.Now()
	for range 2 {
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond) // two signals at once would count as one
	}
	if err := p.wait(); err == nil || time.Since(begin) > drainTime/2 {
		t.Errorf("ended after %s with %v, want an end at once by the signal", time.Since(begin), err)
	}
}

func TestRequestsInWorkAreNotWaitedForForEver(t *testing.T) {
	l, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	s := server{
		handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(arrived); <-leave }),
		drain:   50 * time.Millisecond, logger: slog.New(slog.DiscardHandler), out: io.Discard,
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, l) }()
	asked := make(chan error, 1)
	go func() {
		_, err := request{method: "GET", path: "/"}.do(t.Context(), newClient(t), "http://"+l.Addr().String())
		asked <- err
	}()
	<-arrived
	end()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("error %v, want one that says what was cut off", err)
	}
	if err := <-asked; err == nil {
		t.Error("a request was answered that had no answer")
	}
}
