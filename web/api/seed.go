package api

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"idpool/alloc"
	"idpool/web"
)

// seedAdvice is what to do with a list that is too large for one request.
const seedAdvice = "send a file instead, as text/plain with one ID per line or as text/csv; or split it into parts of at most 1 MB and send them one after the other: " +
	"what is in the pool already is counted as duplicate, never added twice"

type idsBody struct {
	IDs []string `json:"ids"`
}

func (b *idsBody) fields() []field { return []field{texts("ids", &b.IDs)} }

type seedAnswer struct {
	Pool      alloc.PoolName `json:"pool"`
	Job       alloc.JobID    `json:"job"`
	Added     alloc.Count    `json:"added"`
	Duplicate alloc.Count    `json:"duplicate"`
	Conflict  alloc.Count    `json:"conflict"`
	Invalid   alloc.Count    `json:"invalid"`
	CaseOnly  alloc.Count    `json:"case_only"`
	First     seedFirst      `json:"first"`
	Warnings  []string       `json:"warnings"`
}

// seedFirst has the first findings of each kind.
type seedFirst struct {
	Added     []finding `json:"added"`
	Duplicate []finding `json:"duplicate"`
	Conflict  []finding `json:"conflict"`
	Invalid   []finding `json:"invalid"`
	CaseOnly  []finding `json:"case_only"`
}

type finding struct {
	Line   int    `json:"line"` // of the file, or place in the list of IDs; from 1
	ID     string `json:"id"`
	Reason string `json:"reason,omitzero"`
}

func findings(list []alloc.SeedFinding) []finding {
	out := make([]finding, len(list))
	for i, f := range list {
		out[i] = finding(f)
	}
	return out
}

// seed reads the IDs of a file or list, and adds them.
func (a api) seed(q request) (work, error) {
	file, err := readSeed(q)
	if err != nil {
		return work{}, err
	}
	return work{print: file.print, do: func(ctx context.Context, q request) (answer, error) {
		if len(file.data) > web.MaxBody {
			return a.seedByJob(ctx, q, file)
		}
		web.Note(ctx, slog.Int(web.KeyCount, len(file.entries)))
		// The intent names the job: every attempt with the same key is the same seeding.
		r, err := a.svc.Seed(ctx, alloc.SeedRequest{Pool: q.pool(), Entries: file.entries, Intent: q.attempt.Intent})
		switch {
		case err == nil:
			return answer{status: http.StatusOK, body: newSeedAnswer(r, file.warnings)}, nil
		case r.Added+r.Duplicate+r.Conflict > 0:
			return answer{}, web.WithReport(err, newSeedAnswer(r, file.warnings))
		default:
			return answer{}, err
		}
	}}, nil
}

func newSeedAnswer(r alloc.SeedReport, ofFile []string) seedAnswer {
	return seedAnswer{
		Pool: r.Pool, Job: r.Job, Added: r.Added, Duplicate: r.Duplicate, Conflict: r.Conflict, Invalid: r.Invalid, CaseOnly: r.CaseOnly,
		First: seedFirst{
			Added: findings(r.AddedFirst), Duplicate: findings(r.DuplicateFirst), Conflict: findings(r.ConflictFirst),
			Invalid: findings(r.InvalidFirst), CaseOnly: findings(r.CaseFirst),
		},
		Warnings: seedWarnings(r, ofFile),
	}
}

// seedWarnings are those of the file, and then those of its IDs.
func seedWarnings(r alloc.SeedReport, ofFile []string) []string {
	warnings := append([]string{}, ofFile...)
	if r.CaseOnly > 0 {
		warnings = append(warnings, fmt.Sprintf(
			"IDs that differ from one before only in upper and lower case: %d; people mix such IDs up, and a pool with fold_case takes them for one", r.CaseOnly))
	}
	return warnings
}

// seedFile is what a body brings.
type seedFile struct {
	entries  []alloc.SeedEntry
	warnings []string
	print    string // see work

	// Of a text.
	data   []byte
	format alloc.SeedFormat
}

// readSeed reads the body in the form that its Content-Type announces.
func readSeed(q request) (seedFile, error) {
	media, err := mediaType(q)
	if err != nil {
		return seedFile{}, err
	}
	switch media {
	case "application/json":
		return readSeedList(q)
	case "text/csv", "text/plain":
		return readSeedText(q, media)
	}
	return seedFile{}, alloc.Errorf(web.CodeUnsupportedMediaType,
		`send the IDs as text/csv, as text/plain with one ID per line, or as application/json {"ids": ["…"]}, and say which in Content-Type`)
}

func readSeedList(q request) (seedFile, error) {
	if len(q.query) > 0 {
		return seedFile{}, alloc.Errorf(alloc.CodeInvalidRequest, "column, header and ranges are for files; leave them out with a JSON body")
	}
	var b idsBody
	if err := readJSON(q, b.fields(), seedAdvice); err != nil {
		return seedFile{}, err
	}
	if b.IDs == nil {
		return seedFile{}, alloc.Errorf(alloc.CodeInvalidRequest, `the body must have the field ids, a list of strings: {"ids": ["…"]}`)
	}
	entries := make([]alloc.SeedEntry, len(b.IDs))
	for i, id := range b.IDs {
		entries[i] = alloc.SeedEntry{Line: i + 1, Raw: id}
	}
	return seedFile{entries: entries, print: canonical(b)}, nil
}

// readSeedText reads a file. Its canonical form is the file itself, under its type.
func readSeedText(q request, media string) (seedFile, error) {
	format := alloc.SeedFormat{CSV: media == "text/csv", Column: q.query.Get("column")}
	switch header := q.query.Get("header"); header {
	case "":
	case "true":
		format.Header = alloc.HeaderYes
	case "false":
		format.Header = alloc.HeaderNo
	default:
		return seedFile{}, alloc.Errorf(alloc.CodeInvalidRequest, "header must be true or false; leave it out to have it recognised")
	}
	switch ranges := q.query.Get("ranges"); ranges {
	case "", "false":
	case "true":
		format.Ranges = true
	default:
		return seedFile{}, alloc.Errorf(alloc.CodeInvalidRequest, "ranges must be true or false; leave it out where a line such as 1000-1999 is an ID")
	}
	data, err := web.ReadUpload(q.http, uploadAdvice)
	if err != nil {
		return seedFile{}, err
	}
	entries, warnings, err := alloc.ReadSeed(data, format)
	return seedFile{entries, warnings, media + "\n" + string(data), data, format}, err
}
