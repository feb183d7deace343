package api_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"idpool/web/api"
)

// many is a world with seven entries in every list.
func many(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.must(201, "PUT", "/v1/sequences/ledger", "")
	for i := range 7 {
		w.must(201, "PUT", fmt.Sprintf("/v1/pools/p%d", i), "")
		w.must(201, "PUT", fmt.Sprintf("/v1/sequences/s%d", i), "")
		w.must(201, "POST", "/v1/sequences/ledger/leases", `{"count": 10}`)
		w.makeCredential(fmt.Sprintf(`{"client": "c%d", "scopes": ["claim:p"]}`, i))
		w.must(202, "POST", "/v1/pools/p/exports", "")
	}
	return w
}

// Every list is gone through page by page, by its cursor and by its link, as JSON and as CSV; each entry comes once.
func TestListsAreGoneThroughToTheirEnd(t *testing.T) {
	w := many(t)
	for _, rt := range api.Routes(nil) {
		if !rt.List {
			continue
		}
		t.Run(rt.Operation, func(t *testing.T) {
			path := strings.Replace(rt.Path, "{sequence}", "ledger", 1)
			whole := w.firstColumn(path+"?limit=100&format=csv", nil)
			if len(whole) < 7 {
				t.Fatalf("%d entries, want at least 7", len(whole))
			}
			paged := w.firstColumn(path+"?limit=3", []string{"Accept: text/csv"})
			if strings.Join(whole, "\n") != strings.Join(paged, "\n") {
				t.Errorf("in one page %q, in pages of 3 %q", whole, paged)
			}
			entries, pages := 0, 0
			for cursor := ""; ; pages++ {
				next, n := w.jsonPage(path + "?limit=3&cursor=" + url.QueryEscape(cursor))
				if entries += n; next == "" {
					break
				}
				cursor = next
			}
			if entries != len(whole) || pages > len(whole)/3+1 {
				t.Errorf("as JSON %d entries in %d pages, as CSV %d", entries, pages+1, len(whole))
			}
		})
	}
}

// jsonPage returns how many entries a page has, and its cursor, which must be that of its link.
func (w *world) jsonPage(path string) (next string, entries int) {
	w.t.Helper()
	got := w.must(200, "GET", path, "")
	for name, v := range read[map[string]json.RawMessage](w.t, got.Body) {
		var list []json.RawMessage
		if json.Unmarshal(v, &list) == nil {
			entries = len(list)
		}
		if name == "next_cursor" {
			if err := json.Unmarshal(v, &next); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if linked := nextOf(w.t, got.Header().Get("Link")).Get("cursor"); linked != next {
		w.t.Errorf("%s: next_cursor %q, linked %q", path, next, linked)
	}
	return next, entries
}

// nextOf is the query of a link to the next page.
func nextOf(t testing.TB, link string) url.Values {
	t.Helper()
	if link == "" {
		return nil
	}
	query, ok := strings.CutPrefix(link, "<?")
	query, rel := strings.CutSuffix(query, `>; rel="next"`)
	values, err := url.ParseQuery(query)
	if !ok || !rel || err != nil {
		t.Fatalf("the link %q leads nowhere: %v", link, err)
	}
	return values
}

// firstColumn follows the links of a list as CSV from a path on and returns its first column.
func (w *world) firstColumn(path string, headers []string) (cells []string) {
	w.t.Helper()
	base, _, _ := strings.Cut(path, "?")
	for range 50 {
		got := w.must(200, "GET", path, "", headers...)
		if disposition := got.Header().Get("Content-Disposition"); !strings.HasPrefix(disposition, `attachment; filename="`) {
			w.t.Errorf("%s: Content-Disposition %q", path, disposition)
		}
		rows, err := csv.NewReader(got.Body).ReadAll()
		if err != nil || len(rows) == 0 {
			w.t.Fatalf("%s: %d rows, %v", path, len(rows), err)
		}
		for _, row := range rows[1:] {
			cells = append(cells, row[0])
		}
		next := nextOf(w.t, got.Header().Get("Link"))
		if next == nil {
			return cells
		}
		path = base + "?" + next.Encode()
	}
	w.t.Fatalf("%s does not end", base)
	return nil
}

// A cursor is good for the list that gave it, as it was given, and for nothing else.
func TestACursorIsOfItsList(t *testing.T) {
	w := many(t)
	cursors := map[string]string{}
	paths := []string{
		"/v1/pools", "/v1/sequences", "/v1/sequences/ledger/leases", "/v1/credentials", "/v1/jobs", "/v1/audit",
	}
	for _, path := range paths {
		if cursors[path], _ = w.jsonPage(path + "?limit=2"); cursors[path] == "" {
			t.Fatalf("%s has no cursor", path)
		}
	}
	for _, path := range append(paths, "/v1/sequences/s/leases") {
		for from, cursor := range cursors {
			want := 400
			if path == from {
				want = 200
			}
			w.must(want, "GET", path+"?cursor="+url.QueryEscape(cursor), "")
			for _, bad := range []string{cursor[:len(cursor)-1], cursor + "A", strings.ToUpper(cursor), "x" + cursor[1:]} {
				if bad != cursor {
					w.must(400, "GET", path+"?cursor="+url.QueryEscape(bad), "")
				}
			}
		}
	}
}

// A caller sees in lists what it may read, and the jobs on what it may export.
func TestListsShowWhatTheCallerMayRead(t *testing.T) {
	w := many(t)
	w.must(202, "POST", "/v1/pools/p3/exports", "")
	some := w.as(strings.TrimPrefix(w.secretFor("read:p3", "read:s5", "export:p3"), "Bearer "))
	for path, want := range map[string]string{"/v1/pools": `"name":"p3"`, "/v1/sequences": `"name":"s5"`, "/v1/jobs": `"pool":"p3"`} {
		body := some.must(200, "GET", path, "").Body.String()
		if strings.Count(body, `"created_at":`) != 1 || !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s alone", path, body, want)
		}
	}
}
