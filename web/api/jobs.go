package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"idpool/alloc"
)

type exportBody struct {
	State  alloc.State `json:"state"` // "" for all
	Format string      `json:"format"`
}

func (b *exportBody) fields() []field {
	b.Format = formatCSV
	return []field{text("state", &b.State), text("format", &b.Format)}
}

type jobAnswer struct {
	ID      alloc.JobID    `json:"id"`
	Kind    alloc.JobKind  `json:"kind"`
	Pool    alloc.PoolName `json:"pool"`
	Of      alloc.State    `json:"of,omitzero"` // the state of the IDs; absent for all
	Format  string         `json:"format"`
	Client  alloc.ClientID `json:"client"`
	State   alloc.JobState `json:"state"`
	Created time.Time      `json:"created_at"`
	Updated time.Time      `json:"updated_at"`
	Done    alloc.Count    `json:"done"`  // IDs written so far
	Parts   int            `json:"parts"` // parts that can be read, from 0; all of them once it is done
	Failure string         `json:"failure,omitzero"`
}

func newJobAnswer(j alloc.Job) jobAnswer {
	return jobAnswer{
		ID: j.ID, Kind: j.Kind, Pool: j.Pool, Of: j.Of, Format: j.Format, Client: j.By, State: j.State,
		Created: utc(j.Created), Updated: utc(j.Updated), Done: j.Done, Parts: j.Parts, Failure: j.Failure,
	}
}

// export makes a job that writes the pool's IDs into a file, in parts.
func (a api) export(ctx context.Context, q request, b exportBody) (answer, error) {
	j, err := a.svc.Export(ctx, alloc.ExportRequest{Pool: q.pool(), Of: b.State, Format: b.Format, Intent: q.attempt.Intent})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: newJobAnswer(j)}, nil
}

func (a api) job(ctx context.Context, q request) (answer, error) {
	return jobAt(a.svc.Job(ctx, q.job()))
}

func (a api) cancelJob(ctx context.Context, q request) (answer, error) {
	return jobAt(a.svc.CancelJob(ctx, q.job()))
}

func jobAt(j alloc.Job, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newJobAnswer(j)}, nil
}

// job is the one that the path names. The service checks the ID.
func (q request) job() alloc.JobID { return alloc.JobID(q.http.PathValue(onJob)) }

// jobPart sends one part of a job's result. All parts, one after the other, are one file.
func (a api) jobPart(ctx context.Context, q request) (answer, error) {
	n, err := strconv.ParseUint(q.http.PathValue("part"), 10, 31)
	if err != nil {
		return answer{}, alloc.Errorf(alloc.CodeInvalidRequest, "a part of a job is a number, from 0")
	}
	j, err := a.svc.Job(ctx, q.job())
	if err != nil {
		return answer{}, err
	}
	data, err := a.svc.JobPart(ctx, j.ID, int(n))
	if err != nil {
		return answer{}, err
	}
	f := &file{media: mediaLines, name: fmt.Sprintf("%s-%d.jsonl", j.Pool, n), data: data}
	if j.Format == formatCSV {
		f.media, f.name = mediaRows, fmt.Sprintf("%s-%d.csv", j.Pool, n)
		if n == 0 {
			head, err := headOfCSV()
			if err != nil {
				return answer{}, err
			}
			f.media, f.data = mediaCSV, append(head, data...)
		}
	}
	return answer{status: http.StatusOK, file: f}, nil
}

type jobsAnswer struct {
	Jobs []jobAnswer  `json:"jobs"`
	Next alloc.Cursor `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

var jobColumns = []column[jobAnswer]{
	{"id", func(j jobAnswer) string { return string(j.ID) }},
	{"kind", func(j jobAnswer) string { return string(j.Kind) }},
	{"pool", func(j jobAnswer) string { return string(j.Pool) }},
	{"of", func(j jobAnswer) string { return string(j.Of) }},
	{"format", func(j jobAnswer) string { return j.Format }},
	{"client", func(j jobAnswer) string { return string(j.Client) }},
	{"state", func(j jobAnswer) string { return string(j.State) }},
	{"created_at", func(j jobAnswer) string { return when(j.Created) }},
	{"updated_at", func(j jobAnswer) string { return when(j.Updated) }},
	{"done", func(j jobAnswer) string { return decimal(j.Done) }},
	{"parts", func(j jobAnswer) string { return decimal(j.Parts) }},
	{"failure", func(j jobAnswer) string { return j.Failure }},
}

func (a api) listJobs(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	jobs, next, err := a.svc.Jobs(ctx, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body := jobsAnswer{Jobs: make([]jobAnswer, len(jobs)), Next: next}
	for i, j := range jobs {
		body.Jobs[i] = newJobAnswer(j)
	}
	return q.listed(body, listOf("jobs", jobColumns, body.Jobs, next))
}
