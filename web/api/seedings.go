package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"idpool/alloc"
	"idpool/web"
)

// partAdvice is what to do with a part that is too large.
const partAdvice = "cut the file at ends of lines into parts of at most 4 MB, and send them as the inputs 0, 1, 2 … of this job, in their order"

// uploadAdvice is what to do with a file that is too large to be added at once.
const uploadAdvice = "cut the file at ends of lines into parts of at most 4 MB, and send them one after the other: POST …/seedings makes a job for them"

type seedingBody struct {
	Format string `json:"format"`
	Column string `json:"column"`
	Header *bool  `json:"header"` // nil to have it recognised
	Ranges bool   `json:"ranges"`
	Why    string `json:"why"`
}

func (b *seedingBody) fields() []field {
	return []field{
		text("format", &b.Format), text("column", &b.Column), text("why", &b.Why), flag("ranges", &b.Ranges),
		{"header", func(value []byte) error {
			b.Header = new(bool)
			return flag("header", b.Header).read(value)
		}},
	}
}

// format is how the file is to be read. It has to be said whether that is a table: lines that were taken for IDs by mistake
// could not be taken out of a pool again.
func (b seedingBody) format() (alloc.SeedFormat, error) {
	f := alloc.SeedFormat{CSV: b.Format == formatCSV, Column: b.Column, Ranges: b.Ranges}
	if b.Format != formatCSV && b.Format != formatText {
		return f, alloc.Errorf(alloc.CodeInvalidRequest, "format must be %s, for a table, or %s, for one ID a line", formatCSV, formatText)
	}
	switch {
	case b.Header == nil:
	case *b.Header:
		f.Header = alloc.HeaderYes
	default:
		f.Header = alloc.HeaderNo
	}
	return f, nil
}

// openSeeding makes a job that takes a file in parts.
func (a api) openSeeding(ctx context.Context, q request, b seedingBody) (answer, error) {
	name := q.pool()
	format, err := b.format()
	if err != nil {
		return answer{}, err
	}
	j, err := a.svc.OpenSeeding(ctx, alloc.SeedJobRequest{Pool: name, Format: format, Why: b.Why, Intent: q.attempt.Intent})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: newJobAnswer(j)}, nil
}

// receivedAnswer is a job with what its file may be meant as.
type receivedAnswer struct {
	jobAnswer
	Warnings []string `json:"warnings"`
}

func newReceivedAnswer(j alloc.Job, warnings []string) receivedAnswer {
	return receivedAnswer{newJobAnswer(j), append([]string{}, warnings...)}
}

// receivePart reads a part of the file of a seeding or a restore, and keeps it.
func (a api) receivePart(q request) (work, error) {
	n, err := pathNumber(q, "input")
	if err != nil {
		return work{}, err
	}
	media, err := mediaType(q)
	if err != nil {
		return work{}, err
	}
	switch media {
	case "text/csv", "text/plain", "application/octet-stream", mediaLines:
	default:
		return work{}, alloc.Errorf(web.CodeUnsupportedMediaType, "send the part as it is, as application/octet-stream, text/csv, text/plain or "+mediaLines+", and say which in Content-Type")
	}
	data, err := web.ReadUpload(q.http, partAdvice)
	if err != nil {
		return work{}, err
	}
	return work{print: string(data), do: func(ctx context.Context, q request) (answer, error) {
		j, warnings, err := a.svc.ReceivePart(ctx, q.job(), n, data)
		if err != nil {
			return answer{}, err
		}
		return answer{status: http.StatusOK, body: newReceivedAnswer(j, warnings)}, nil
	}}, nil
}

type startBody struct {
	Parts int `json:"parts"`
}

func (b *startBody) fields() []field { return []field{whole("parts", &b.Parts)} }

// startJob says that all parts of a job's file are there.
func (a api) startJob(ctx context.Context, q request, b startBody) (answer, error) {
	if b.Parts < 1 {
		return answer{}, alloc.Errorf(alloc.CodeInvalidRequest, "parts must be how many parts the file has, at least 1; it shows whether all of them have come")
	}
	j, err := a.svc.StartJob(ctx, q.job(), b.Parts)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: newJobAnswer(j)}, nil
}

// seedByJob adds the IDs of a file that is too large to be answered at once: as a job with one part. Every attempt with one key
// is the same job, and goes on where the one before was cut off. Where that job has ended without the file, nothing of it will
// be added any more under this key.
func (a api) seedByJob(ctx context.Context, q request, f seedFile) (answer, error) {
	web.Note(ctx, slog.Int(web.KeyCount, len(f.entries)))
	j, err := a.svc.OpenSeeding(ctx, alloc.SeedJobRequest{Pool: q.pool(), Format: f.format, Intent: q.attempt.Intent})
	if err != nil {
		return answer{}, err
	}
	if j.State == alloc.JobReceiving {
		started, err := a.receiveWhole(ctx, j.ID, f.data)
		if alloc.Is(err, alloc.CodeJobEnded) {
			return answer{}, endedMeanwhile(j.ID, alloc.JobCancelled)
		}
		if err != nil {
			if q.key == "" || web.StatusOf(alloc.CodeOf(err)) < http.StatusInternalServerError { // nobody will go on with it
				a.giveUp(ctx, j.ID)
			}
			return answer{}, err
		}
		j = started
	}
	if j.State == alloc.JobCancelled || j.State == alloc.JobFailed {
		return answer{}, endedMeanwhile(j.ID, j.State)
	}
	return answer{status: http.StatusAccepted, body: newReceivedAnswer(j, f.warnings)}, nil
}

// endedMeanwhile is the refusal of a file whose job has ended before all of it was added.
func endedMeanwhile(id alloc.JobID, how alloc.JobState) error {
	return alloc.Errorf(alloc.CodeJobEnded,
		"the job %s, made to take this file in, is %s by now and adds nothing more; look at it, and send the file anew, with another Idempotency-Key", id, how)
}

// receiveWhole gives a job its whole file, and has it begin.
func (a api) receiveWhole(ctx context.Context, id alloc.JobID, data []byte) (alloc.Job, error) {
	if _, _, err := a.svc.ReceivePart(ctx, id, 0, data); err != nil {
		return alloc.Job{}, err
	}
	return a.svc.StartJob(ctx, id, 1)
}

// giveUp cancels a job whose file cannot be taken in, so that it does not wait for a day. Where that fails, the schedule does it then.
func (a api) giveUp(ctx context.Context, id alloc.JobID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveUpTime)
	defer cancel()
	if _, err := a.svc.CancelJob(ctx, id); err != nil {
		web.Explain(ctx, err)
	}
}

const giveUpTime = time.Second
