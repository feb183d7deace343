package signin

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Whatever is asked for, a browser stays here.
func FuzzLocalPath(f *testing.F) {
	for _, to := range []string{"/", "//x", `/\x`, "/%2f%2fx", "/a?b=c#d", "/\t/x", "https://x", "/a/../b", "/é", "/%", "/a;b"} {
		f.Add(to)
	}
	base := &url.URL{Scheme: "https", Host: "ids.example.com", Path: "/signin/callback"}
	f.Fuzz(func(t *testing.T, to string) {
		got := localPath(to)
		u, err := base.Parse(got)
		if err != nil || u.Scheme != base.Scheme || u.Host != base.Host || u.User != nil {
			t.Fatalf("%q leads to %q: %v", to, got, u)
		}
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\t\r\n #") || len(got) > maxTo*3 {
			t.Fatalf("%q leads to %q", to, got)
		}
		decoded, err := url.PathUnescape(u.EscapedPath())
		if err != nil || strings.HasPrefix(decoded, "//") || strings.Contains(decoded, `\`) {
			t.Fatalf("%q leads to %q, which is %q", to, got, decoded)
		}
		if again := localPath(got); again != got {
			t.Fatalf("%q leads to %q, and that to %q", to, got, again)
		}
		w := http.Header{}
		w.Set("Location", got)
	})
}

func TestTheLimiterIsBoundedAndFair(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	l := newLimiter(func() time.Time { return now })
	for range 1000 {
		l.take("192.0.2.1")
	}
	if wait := l.take("192.0.2.2"); wait != 0 {
		t.Errorf("one address keeps out another for %s", wait)
	}
	if wait := l.take("192.0.2.1"); wait <= 0 || wait > addressInterval {
		t.Errorf("it has to wait for %s, want at most %s", wait, addressInterval)
	}
	now = now.Add(addressInterval)
	if wait := l.take("192.0.2.1"); wait != 0 {
		t.Errorf("after that it has to wait for %s", wait)
	}
	now = now.Add(time.Hour)
	addr := netip.MustParseAddr("10.0.0.0")
	passed := 0
	for range 3 * maxAddresses {
		addr = addr.Next()
		if l.take(addr.String()) == 0 {
			passed++
		}
	}
	if passed != globalBurst || len(l.addresses) > maxAddresses {
		t.Errorf("%d went through at once, want %d; %d are remembered", passed, globalBurst, len(l.addresses))
	}
	now = now.Add(time.Hour)
	if wait := l.take("203.0.113.1"); wait != 0 || len(l.addresses) != 1 {
		t.Errorf("an hour later it has to wait for %s, and %d are remembered", wait, len(l.addresses))
	}
	for _, same := range [][2]string{{"2001:db8::1", "2001:db8::ffff:1"}, {"::ffff:192.0.2.1", "192.0.2.1"}, {"fe80::1%eth0", "fe80::2"}} {
		if group(same[0]) != group(same[1]) {
			t.Errorf("%s and %s are two", same[0], same[1])
		}
	}
	if group("2001:db8:0:1::1") == group("2001:db8:0:2::1") || len(group(strings.Repeat("x", 1000))) > 64 {
		t.Error("two sites are one, or what is no address is kept whole")
	}
}
