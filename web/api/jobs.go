package api

import (
	"context"
	"net/http"

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

// export makes a job that writes the pool's IDs into a file, in parts.
func (a api) export(ctx context.Context, q request, b exportBody) (answer, error) {
	j, err := a.svc.Export(ctx, alloc.ExportRequest{Pool: q.pool(), Of: b.State, Format: b.Format, Intent: q.attempt.Intent})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: newJobAnswer(j)}, nil
}

type countRequest struct {
	Why string `json:"why"`
}

func (b *countRequest) fields() []field { return []field{text("why", &b.Why)} }

// count makes a job that counts the pool's IDs one by one. That of a small pool has ended by then.
func (a api) count(ctx context.Context, q request, b countRequest) (answer, error) {
	j, err := a.svc.CountPool(ctx, alloc.CountRequest{Pool: q.pool(), Why: b.Why, Intent: q.attempt.Intent})
	if err != nil {
		return answer{}, err
	}
	status := http.StatusAccepted
	if j.State.Ended() {
		status = http.StatusOK
	}
	return answer{status: status, body: newJobAnswer(j)}, nil
}

func (a api) job(ctx context.Context, q request) (answer, error) {
	return jobAt(a.svc.Job(ctx, q.job()))
}

func (a api) cancelJob(ctx context.Context, q request) (answer, error) {
	return jobAt(a.svc.CancelJob(ctx, q.job()))
}

// checkJob makes a job that says what would become of a seeding's file.
func (a api) checkJob(ctx context.Context, q request) (answer, error) {
	return jobMade(a.svc.CheckSeeding(ctx, q.job(), q.attempt.Intent))
}

func jobAt(j alloc.Job, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newJobAnswer(j)}, nil
}

// job is the one that the path names. The service checks the ID.
func (q request) job() alloc.JobID { return alloc.JobID(q.http.PathValue(onJob)) }

type jobsAnswer struct {
	Jobs []jobAnswer  `json:"jobs"`
	Next alloc.Cursor `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

var jobColumns = []column[jobAnswer]{
	{"id", func(j jobAnswer) string { return string(j.ID) }},
	{"kind", func(j jobAnswer) string { return string(j.Kind) }},
	{"pool", func(j jobAnswer) string { return string(j.Pool) }},
	{"sequence", func(j jobAnswer) string { return string(j.Sequence) }},
	{"of", func(j jobAnswer) string { return string(j.Of) }},
	{"format", func(j jobAnswer) string { return j.Format }},
	{"client", func(j jobAnswer) string { return string(j.Client) }},
	{"why", func(j jobAnswer) string { return j.Why }},
	{"state", func(j jobAnswer) string { return string(j.State) }},
	{"created_at", func(j jobAnswer) string { return when(j.Created) }},
	{"started_at", func(j jobAnswer) string { return when(j.Started) }},
	{"updated_at", func(j jobAnswer) string { return when(j.Updated) }},
	{"eta", func(j jobAnswer) string { return when(j.ETA) }},
	{"done", func(j jobAnswer) string { return decimal(j.Done) }},
	{"total", func(j jobAnswer) string { return ifAny(j.Total) }},
	{"parts", func(j jobAnswer) string { return decimal(j.Parts) }},
	{"verdict", func(j jobAnswer) string { return j.Verdict }},
	{"trail_verdict", func(j jobAnswer) string { return j.Trail }},
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
