package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// jobSeen is a job as its clients see it.
type jobSeen struct {
	ID, State, Failure string
	Done, Total, Parts int
	Verdict            string
	ETA                *time.Time `json:"eta"`
	Tally              struct{ Added, Duplicate, Conflict, Invalid int }
}

// seedFile is a file of numbered IDs, of which one in 10,000 is a repeat of one 4,998 lines before it, and one in 25,000 is no ID.
type seedFile struct{ ids, duplicates, invalid int }

func newSeedFile(lines int) seedFile {
	return seedFile{ids: lines - lines/10_000 - lines/25_000, duplicates: lines / 10_000, invalid: lines / 25_000}
}

func (f seedFile) lines() int { return f.ids + f.duplicates + f.invalid }

// line is line n, from 0.
func (f seedFile) line(n int) string {
	switch {
	case n%10_000 == 9_999:
		return "V-" + strconv.Itoa(n-4_998)
	case n%25_000 == 12_345:
		return "V-\x01" + strconv.Itoa(n)
	}
	return "V-" + strconv.Itoa(n)
}

// parts are the lines in parts of so many.
func (f seedFile) parts(size int) (parts []string) {
	var b strings.Builder
	for n := range f.lines() {
		b.WriteString(f.line(n))
		b.WriteByte('\n')
		if (n+1)%size == 0 || n+1 == f.lines() {
			parts = append(parts, b.String())
			b.Reset()
		}
	}
	return parts
}

// TestAMillionIDsAreSeededByAJobThatIsKilled sends a file in parts and kills the program, in every second round with its engine,
// five times on the way. At the end each ID is there once, the counts are exact, progress was shown, and the program's memory was bounded. On
// DynamoDB, where each ID is an item of its own, the file is smaller.
func TestAMillionIDsAreSeededByAJobThatIsKilled(t *testing.T) {
	onEachEngine(t, func(t *testing.T, e engine) {
		file := newSeedFile(1_000_000)
		if _, ok := e.(sqlite); !ok {
			file = newSeedFile(50_000)
		}
		start := func() *program { return launch(t, append(e.flags(), "-refill-every", "1s")...) }
		p := start()
		must[poolSeen](t, p, http.StatusCreated, request{method: "PUT", path: "/v1/pools/p"})
		job := must[jobSeen](t, p, http.StatusCreated, request{method: "POST", path: "/v1/pools/p/seedings", body: `{"format": "text", "why": "a million"}`, key: "file-1"})
		path := "/v1/jobs/" + job.ID
		parts := file.parts(file.lines()/5 + 1)
		for n, part := range parts {
			upload := request{method: "PUT", path: fmt.Sprintf("%s/input/%d", path, n), body: part, contentType: "text/plain"}
			must[any](t, p, http.StatusOK, upload)
			if n == 1 {
				must[any](t, p, http.StatusOK, upload) // whose answer was lost
				p.kill()
				p = start()
			}
		}
		must[any](t, p, http.StatusAccepted, request{method: "POST", path: path + "/start", body: fmt.Sprintf(`{"parts": %d}`, len(parts))})

		var peak memory
		begin, last, shown := time.Now(), 0, 0
		for kills := 1; ; {
			seen := must[jobSeen](t, p, http.StatusOK, request{method: "GET", path: path})
			peak.look(t, p)
			if seen.Done < last || seen.Total != file.lines() {
				t.Fatalf("%d of %d is done after %d, want %d in all", seen.Done, seen.Total, last, file.lines())
			}
			if last = seen.Done; seen.State == "done" {
				job = seen
				break
			}
			if seen.State != "queued" && seen.State != "running" {
				t.Fatalf("the job is %s: %s", seen.State, seen.Failure)
			}
			if seen.ETA != nil {
				shown++
			}
			if kills < 5 && seen.Done >= kills*file.lines()/6 {
				p.kill()
				if kills++; kills%2 == 0 {
					e.crash(t)
				}
				p = start()
			}
			time.Sleep(time.Duration(5+rand.IntN(20)) * time.Millisecond) // between looks
		}
		t.Logf("%d lines in %s, killed five times; peak memory of the program %s", file.lines(), time.Since(begin).Round(time.Second), peak)
		if shown == 0 {
			t.Error("the job never said when it would be done")
		}
		if c := job.Tally; job.Done != file.lines() || c.Added != file.ids || c.Duplicate != file.duplicates || c.Invalid != file.invalid || c.Conflict != 0 {
			t.Errorf("%+v, want %+v", job, file)
		}
		rejects := ""
		for n := range job.Parts {
			rejects += mustText(t, p, fmt.Sprintf("%s/parts/%d", path, n))
		}
		if got := strings.Count(rejects, "duplicate,") + strings.Count(rejects, "invalid,"); got != file.duplicates+file.invalid {
			t.Errorf("the reject file has %d lines, want %d: %.500s", got, file.duplicates+file.invalid, rejects)
		}
		if level := sweptLevel(t, p, "p"); level.Seeded != file.ids || level.Available != file.ids {
			t.Errorf("level %+v, want %d", level, file.ids)
		}
		peak.check(t)
		p.end(t)
	})
}

func mustText(t *testing.T, p *program, path string) string {
	t.Helper()
	a, err := request{method: "GET", path: path}.do(t.Context(), newClient(t), p.url)
	if err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %v", path, a.status, err)
	}
	return string(a.body)
}
