package signin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// OnceFor is how long an address of one use works.
const OnceFor = 5 * time.Minute

// Once makes addresses by which whoever has the terminal signs in as administrator. Each works once, for OnceFor, and until the
// next one is made. It is safe for concurrent use.
type Once struct {
	now  func() time.Time
	tell func(path string)

	mu    sync.Mutex
	hash  [sha256.Size]byte
	until time.Time // zero for none
}

// NewOnce returns a Once that tells what it makes, from the path on, to whoever has the terminal.
func NewOnce(now func() time.Time, tell func(path string)) (*Once, error) {
	if now == nil || tell == nil {
		return nil, errors.New("signin: an address of one use needs a clock, and a place where it is printed")
	}
	return &Once{now: now, tell: tell}, nil
}

// Print makes an address and prints it. Whoever signs in by it goes to the page to.
func (o *Once) Print(to string) {
	code := rand.Text()
	o.mu.Lock()
	o.hash, o.until = sha256.Sum256([]byte(code)), o.now().Add(OnceFor)
	o.mu.Unlock()
	q := url.Values{fieldCode: {code}}
	if to = localPath(to); to != firstPage {
		q.Set(queryTo, to)
	}
	o.tell(oncePath + "?" + q.Encode())
}

// use takes the code of the address, once.
func (o *Once) use(code string) bool {
	got := sha256.Sum256([]byte(code))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until.IsZero() || !o.now().Before(o.until) || subtle.ConstantTimeCompare(got[:], o.hash[:]) != 1 {
		return false
	}
	o.until = time.Time{}
	return true
}

const fieldCode = "code"

// maxCode is longer than any code.
const maxCode = 64

// terminal is who has the terminal.
func terminal() alloc.Person {
	return alloc.Person{Subject: "terminal", Name: "Whoever has the terminal"}
}

// oncePage asks to go on. A look at the address uses nothing up: browsers and messengers look ahead.
func (g *Gate) oncePage(w http.ResponseWriter, r *http.Request) {
	code := r.URL.Query().Get(fieldCode)
	if g.Once == nil || code == "" || len(code) > maxCode {
		g.Fail(w, r, alloc.Errorf(web.CodeNotFound, "there is no page at this address"))
		return
	}
	g.Show(w, r, "Sign in", func(f templates.Frame) templ.Component {
		return templates.Once(templates.OncePage{Frame: f, Path: oncePath, Code: code, To: localPath(r.URL.Query().Get(queryTo))})
	})
}

// useOnce signs in by the code.
func (g *Gate) useOnce(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue(fieldCode)
	if g.Once == nil || len(code) > maxCode || !g.Once.use(code) {
		g.Fail(w, r, alloc.Errorf(alloc.CodeForbidden, "this address was used before, is older than five minutes, or another was printed after it; have a new one printed on the page of the sign-in"))
		return
	}
	g.enter(w, r, terminal(), alloc.RoleAdmin, r.PostFormValue(queryTo))
}

// printOnce prints another address in the terminal. Whoever asks learns nothing.
func (g *Gate) printOnce(w http.ResponseWriter, r *http.Request) {
	if g.Once == nil {
		g.Fail(w, r, alloc.Errorf(web.CodeNotFound, "there is no page at this address"))
		return
	}
	to := localPath(r.PostFormValue(queryTo))
	g.Once.Print(to)
	http.Redirect(w, r, signinPath+"?"+url.Values{queryPrinted: {"1"}, queryTo: {to}}.Encode(), http.StatusSeeOther)
}
