package main

import (
	"net"
	"strings"
	"testing"
)

func TestTheGreetingTellsWhoCanAsk(t *testing.T) {
	const warning = "\n  network    reachable from the network over plain HTTP"
	for address, want := range map[string]bool{
		"127.0.0.1": false, "::1": false, "0.0.0.0": true, "::": true, "192.0.2.1": true,
	} {
		var out strings.Builder
		greet(&out, greeting{addr: &net.TCPAddr{IP: net.ParseIP(address), Port: 8080}})
		if got := strings.Contains(out.String(), warning); got != want {
			t.Errorf("%s: warned is %t, want %t:\n%s", address, got, want, out.String())
		}
	}
}
