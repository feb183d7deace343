//go:build !goonly

package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
)

// codesFile is a table as a campaign sends it: with a byte order mark, CRLF, 300 codes of which two are given twice and one is no
// ID, and one that the pool has already.
func codesFile(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\uFEFFdiscount,code,campaign\r\n")
	for n := range 300 {
		fmt.Fprintf(&b, "%d %%,JRN-%04d,spring\r\n", n%5*10, n)
	}
	b.WriteString("10 %,JRN-0007,spring\r\n10 %,JRN-0008,spring\r\n10 %,JRN\t0009,spring\r\n10 %,SPRING-00000,spring\r\n")
	path := filepath.Join(t.TempDir(), "codes.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// journey is a day of an administrator who has no mouse: only a file is chosen otherwise, in a window that is not the page's.
type journey struct {
	*tab
	s      *site
	script bool
	file   string // with codes
	id     string // that was claimed
	last   uint64 // highest number that was leased before the counter was lost
}

// watch waits for a page to say something, in these very words and numbers: 3 is not said by 300. With scripts it is brought up to date by
// a key, without them it is opened again.
func (j *journey) watch(selector, words string) {
	j.t.Helper()
	for deadline := time.Now().Add(patience); !saidIn(j.text(selector), words); backOff() {
		if time.Now().After(deadline) {
			j.t.Fatalf("%s: %s does not come to say %q: %s", j.path(), selector, words, j.text("main"))
		}
		if j.script {
			j.must("bring it up to date", j.press("r"))
		} else {
			j.visit(j.path())
		}
	}
}

// saidIn reports whether a text has the words, and not as a part of longer ones. How they are laid out is of no interest.
func saidIn(text, words string) bool {
	return regexp.MustCompile(`(^|[^\pL\pN,.])` + regexp.QuoteMeta(words) + `($|[^\pL\pN,.]|[,.]($|[^\pN]))`).MatchString(strings.Join(strings.Fields(text), " "))
}

func TestWordsAreNotSaidByLongerOnes(t *testing.T) {
	for text, want := range map[string]bool{
		"Duplicate\n3": true, "Duplicate\t3\nInvalid\n1": true, "Duplicate 3, Invalid 1": true, "It is a Duplicate 3.": true,
		"Duplicate 300": false, "Duplicate 3,000": false, "Duplicate 3.5": false, "noDuplicate 3": false, "Duplicate": false,
	} {
		if saidIn(text, "Duplicate 3") != want {
			t.Errorf("%q says Duplicate 3: %t, want %t", text, !want, want)
		}
	}
}

// TestBrowserWalksADayByKeyboard goes the whole way of an administrator, with scripts and without: a file is checked, confirmed and
// seeded, one of its IDs is claimed and looked at, a sequence whose counter is lost is rebuilt, audited, and all of it is in the trail.
func TestBrowserWalksADayByKeyboard(t *testing.T) {
	b, file := newBrowser(t), codesFile(t)
	for name, script := range map[string]bool{"with scripts": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			data := sqlite{t.TempDir()}
			s := newSite(t, func(c *settings) { c.data = data.dir })
			j := &journey{s: s, script: script, file: file}
			j.signIn(t, b)
			j.seed()
			j.claim()
			s.end()
			data.loseCounter(t, "order")
			j.s = newSite(t, func(c *settings) { c.data = data.dir })
			j.signIn(t, b)
			j.rebuild()
			j.audit()
			j.trail()
		})
	}
}

func (j *journey) signIn(t testing.TB, b browser) {
	t.Helper()
	address := j.s.invitation(t)
	j.tab = b.open(t, j.s.base)
	j.scripts(j.script)
	j.visit(address)
	j.send("Sign in as administrator")
	j.says(".who", "Whoever has the terminal · admin")
}

// seed brings the codes of the file into a pool.
func (j *journey) seed() {
	j.t.Helper()
	j.follow(`nav a[href="/pools"]`)
	j.follow(`main a[href="/pools/voucher-spring"]`)
	j.follow(`main a[href="/pools/voucher-spring/seed"]`)
	j.must("choose the file", chromedp.SetUploadFiles(`#file`, []string{j.file}))
	j.tabTo(`#format`)
	j.must("choose the table", j.press("a t"))
	j.fill("column", "code")
	j.fill("why", "the spring campaign")
	j.send("Check IDs")
	j.says("h1", "voucher-spring")
	j.watch("#live-check", "done")
	for _, words := range []string{"To be added 300", "Duplicate 2", "Conflict 1", "Invalid 1"} {
		j.watch("#live-check", words)
	}
	j.watch("#live-said", "Nothing was added yet")
	j.watch("#live-rejects", "JRN-0008")
	j.visit(j.path()) // the way on stands where nothing is swapped
	j.follow(`main a[href*="/start?"]`)
	j.says("main", "304", "the spring campaign", "cannot be taken out again")
	j.fill("reason", "they are the right ones")
	j.send("Seed pool")
	j.says(".notice", "The job goes on by itself")
	j.watch("#live-job", "done")
	for _, words := range []string{"Done 304 of 304", "Added 300", "Duplicate 2", "Conflict 1", "Invalid 1"} {
		j.watch("#live-job", words)
	}
	j.watch("#live-facts", "the spring campaign")
	j.watch("#live-result", "The whole of it")
	if head := j.text(".asof"); strings.Contains(head, "every") || strings.Contains(head, "Pause") {
		j.t.Errorf("of a job that has ended the head says %q", head)
	}
}

// claim takes an ID on the page of its pool, looks for it, and gives it back.
func (j *journey) claim() {
	j.t.Helper()
	j.follow(`nav a[href="/pools"]`)
	j.follow(`main a[href="/pools/voucher-spring"]`)
	j.follow(`main a[href="/pools/voucher-spring/claim"]`)
	j.says("main", "You get an ID that nobody has")
	j.send("Claim ID")
	j.id = j.text("main .copyable pre")
	j.says("main", j.id, "claimed")
	j.tabTo(`.find input`)
	j.leads("find the ID", 200, j.press(j.id+"\r"))
	j.follow(`main a[href*="/ids?id="]`)
	j.says("main", j.id, "claimed", "Taken by")
	j.follow(`main a[href*="/ids/release?"]`)
	j.fill("typed", j.id)
	j.fill("reason", "taken to see how it goes")
	j.send("Release ID")
	j.says(".notice", "The ID is released")
	j.says("main", j.id, "returning")

	leased := must[rangeSeen](j.t, j.s.api(), http.StatusCreated, request{method: "POST", path: "/v1/sequences/order/leases", body: `{"count": 10}`})
	j.last = uint64(leased.End)
}

// rebuild puts a sequence that has lost its counter back to work.
func (j *journey) rebuild() {
	j.t.Helper()
	j.follow(`nav a[href="/sequences"]`)
	j.says("main", "stopped, rebuild it")
	j.follow(`main a[href="/sequences/order"]`)
	j.follow(`main a[href="/sequences/order/rebuild"]`)
	j.follow(`main a[href="/sequences/order/rebuild/plan"]`)
	j.fill("reported", strconv.FormatUint(j.last+1000, 10))
	j.fill("margin", "50")
	j.send("Review")
	j.fill("reason", "its counter is gone")
	j.send("Freeze sequence and plan")
	j.watch("#live-note", "Nothing is changed before it is applied")
	j.watch("#live-plan", "Next number")
	j.follow(`main a[href="/sequences/order/rebuild/apply"]`)
	j.fill("typed", "order")
	j.fill("reason", "the plan is above all that is known")
	j.send("Apply plan")
	j.watch("#live-note", "The counter is verified")
	j.follow(`main a[href="/sequences/order/rebuild/resume"]`)
	j.fill("share", "100")
	j.send("Review")
	j.send("Serve 100 %")
	j.watch("#live-note", "It is over")
	leased := must[rangeSeen](j.t, j.s.api(), http.StatusCreated, request{method: "POST", path: "/v1/sequences/order/leases", body: `{"count": 10}`})
	if uint64(leased.Start) <= j.last+1000+50 {
		j.t.Errorf("after the rebuild %d is leased, and up to %d was taken", leased.Start, j.last+1000)
	}
}

// audit has the pool and the sequence verified.
func (j *journey) audit() {
	j.t.Helper()
	for _, address := range []string{"/sequences/order", "/pools/voucher-spring"} {
		list, _, _ := strings.Cut(address[1:], "/")
		j.follow(`nav a[href="/` + list + `"]`)
		j.follow(`main a[href="` + address + `"]`)
		j.follow(`main a[href="` + address + `/verify"]`)
		j.send("Review")
		j.fill("reason", "after the rebuild")
		j.send("Verify")
		j.watch("#live-job", "done")
		j.watch("#live-job", "healthy")
	}
}

// taken is a step that an administrator has taken.
type taken struct{ action, target, reason string }

// trail looks for what was done, and takes it home as files.
func (j *journey) trail() {
	j.t.Helper()
	j.follow(`nav a[href="/audit"]`)
	j.says("main", "sequence.apply-rebuild", "pool.audit")
	j.tabTo(`details.filter summary`)
	j.must("open the filter", j.press("\r"))
	j.fill("action", "sequence.*")
	j.fill("target", "sequence/order")
	j.send("Filter records")
	j.says("main", "the plan is above all that is known", "its counter is gone")
	if strings.Contains(j.text("main .trail"), "pool/voucher-spring") {
		j.t.Errorf("%s shows what is no step of a sequence: %s", j.path(), j.text("main .trail"))
	}
	j.exported([]taken{
		{"sequence.plan-rebuild", "sequence/order", "its counter is gone"},
		{"sequence.apply-rebuild", "sequence/order", "the plan is above all that is known"},
		{"sequence.resume-rebuild", "sequence/order", ""},
		{"sequence.audit", "sequence/order", "after the rebuild"},
	})
	j.follow(`main a[href="/audit"]`)
	j.exported([]taken{
		{"pool.open-seed", "pool/voucher-spring", "the spring campaign"},
		{"pool.check-seed", "pool/voucher-spring", "the spring campaign"},
		{"pool.start-seed", "pool/voucher-spring", "they are the right ones"},
		{"pool.done-seed", "pool/voucher-spring", ""},
		{"sequence.apply-rebuild", "sequence/order", "the plan is above all that is known"},
		{"pool.audit", "pool/voucher-spring", "after the rebuild"},
	})
}

// exported takes the records that are shown home, as a table and as lines of JSON, and looks for the steps in both.
func (j *journey) exported(want []taken) {
	j.t.Helper()
	table, err := csv.NewReader(strings.NewReader(j.download(`main a[href*="format=csv"]`, "trail.csv"))).ReadAll()
	if err != nil {
		j.t.Fatal(err)
	}
	var all []map[string]string
	for d := json.NewDecoder(strings.NewReader(j.download(`main a[href*="format=jsonl"]`, "trail.jsonl"))); ; {
		record := map[string]string{}
		if err := d.Decode(&record); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			j.t.Fatal(err)
		}
		all = append(all, record)
	}
	if len(table) != len(all)+1 {
		j.t.Errorf("the table has %d rows, and there are %d lines of JSON", len(table), len(all))
	}
	for n, record := range all {
		for i, name := range table[0] {
			if table[n+1][i] != record[name] {
				j.t.Errorf("record %d: %s is %q in the table and %q in JSON", n, name, table[n+1][i], record[name])
			}
		}
	}
	var steps []taken
	for _, r := range all {
		if r["result"] == "ok" {
			steps = append(steps, taken{r["action"], r["target"], r["reason"]})
		}
	}
	for _, w := range want {
		if !slices.Contains(steps, w) {
			j.t.Errorf("%+v is not in the file: %+v", w, steps)
		}
	}
}

// download follows a link to a file by keyboard, and returns what is in the file.
func (j *journey) download(link, name string) string {
	j.t.Helper()
	dir := j.t.TempDir()
	j.must("say where files go", called(cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{
		Behavior: cdpbrowser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(j.ctx).BrowserContextID, DownloadPath: dir,
	}))
	j.tabTo(link)
	j.must("follow the link", j.press("\r"))
	for deadline := time.Now().Add(patience); ; backOff() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && len(data) > 0 {
			return string(data)
		}
		if time.Now().After(deadline) {
			j.t.Fatalf("%s does not come from %s: %v", name, link, err)
		}
	}
}
