package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"text/template"

	"idpool/templates"
	"idpool/web/admin/signin"
)

// greeting is what the program says when it is ready.
type greeting struct {
	settings  settings
	addr      net.Addr
	token     string
	tokenFile string
	unused    string // an engine whose data in the folder is not used now, "" for none
}

// Base is the address under which this machine reaches the program.
func (g greeting) Base() string {
	host, port, err := net.SplitHostPort(g.addr.String())
	if err != nil {
		return "http://" + g.addr.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Store says where the data is.
func (g greeting) Store() string {
	if g.settings.endpoint == "" {
		return "SQLite, data in " + g.settings.data
	}
	return "DynamoDB at " + g.settings.endpoint + ", table " + g.settings.table
}

// facts are what the page about this system says of where it keeps what.
func (g greeting) facts() []templates.Fact {
	return []templates.Fact{{Term: "Region", Value: "none: one process on this machine"}, {Term: "Store", Value: g.Store()}}
}

// Old says from what jobs carry forward; "" where nothing is named.
func (g greeting) Old() string {
	switch {
	case g.settings.old == "":
		return ""
	case g.settings.endpoint == "":
		return "SQLite, data in " + g.settings.old + ", of before a restore; it is read only by restores, and locked for others meanwhile"
	}
	return "table " + g.settings.old + ", of before a restore; it is read only by restores, and nobody else may use it"
}

// Unused says which data of the folder this store does not have; "" where there is no other.
func (g greeting) Unused() string {
	if g.unused == "" {
		return ""
	}
	return g.settings.data + " also has data of " + g.unused + ", which is not used now: IDs handed out there are not known here"
}

// Schedule says that nothing is done by itself; "" where it is.
func (g greeting) Schedule() string {
	if g.settings.refillEvery != 0 {
		return ""
	}
	return "off, by -refill-every 0: no hold ends, nothing released comes back and no pool is filled until the next start without it"
}

// Network says who else can ask; "" where nobody can.
func (g greeting) Network() string {
	if isLoopback(g.addr.String()) {
		return ""
	}
	return "reachable from the network over plain HTTP: token, sessions and IDs can be read on the way"
}

// Page says how the dashboard is opened.
func (g greeting) Page() string {
	if g.settings.insecure {
		return "insecure: whoever uses this machine may change everything by it"
	}
	return "sign in by the address below"
}

// invite tells whoever has the terminal by which address to sign in.
func (g greeting) invite(w io.Writer, path string) {
	fmt.Fprintf(w, "sign in to the dashboard, once and within %d minutes: %s%s\n", int(signin.OnceFor.Minutes()), g.Base(), path) //nolint:errcheck // as in greet
}

// lines lets several write, each its own lines.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Token says what the token is.
func (g greeting) Token() string {
	if g.settings.token != "" {
		return "as given by -token or IDPOOL_TOKEN"
	}
	return g.token + " (kept in " + g.tokenFile + ")"
}

// TokenWord is the token as a shell gets it.
func (g greeting) TokenWord() string {
	if g.settings.token != "" {
		return "… # the one given"
	}
	return "$(cat " + shellWord(g.tokenFile) + ")"
}

func shellWord(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// The first line is read by programs that start this one: it ends in the address.
var greetingText = template.Must(template.New("greeting").Parse(`idpool is ready at {{.Base}}
  store      {{.Store}}
{{- with .Old}}
  old        {{.}}
{{- end}}
{{- with .Unused}}
  warning    {{.}}
{{- end}}
{{- with .Schedule}}
  schedule   {{.}}
{{- end}}
  dashboard  {{.Base}}/ ({{.Page}})
  token      {{.Token}}
  stop       Ctrl-C; the data stays
{{- with .Network}}
  network    {{.}}
{{- end}}

Try next, in another shell (each may be repeated):
  URL={{.Base}} TOKEN={{.TokenWord}}
  curl -X PUT  $URL/v1/pools/demo              -H "Authorization: Bearer $TOKEN"
  printf '%s\n' DEMO-1 DEMO-2 DEMO-3 |
  curl -X POST $URL/v1/pools/demo/seed         -H "Authorization: Bearer $TOKEN" -H 'Content-Type: text/plain' --data-binary @-
  curl -X POST $URL/v1/pools/demo/claims       -H "Authorization: Bearer $TOKEN" -H 'Idempotency-Key: demo-1'
  curl -X PUT  $URL/v1/sequences/demo          -H "Authorization: Bearer $TOKEN"
  curl -X POST $URL/v1/sequences/demo/leases   -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"count": 1000}'

`))

func greet(w io.Writer, g greeting) {
	var text strings.Builder         // to be written at once
	greetingText.Execute(&text, g)   //nolint:errcheck // a Builder takes all
	io.WriteString(w, text.String()) //nolint:errcheck // nobody reads it; the program serves all the same
}
