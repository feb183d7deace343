package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"

	"idpool/alloc"
	"idpool/web"
)

// jobPart sends one part of a job's result. All parts, one after the other, are one file.
func (a api) jobPart(ctx context.Context, q request) (answer, error) {
	n, err := pathNumber(q, "part")
	if err != nil {
		return answer{}, err
	}
	j, err := a.svc.Job(ctx, q.job())
	if err != nil {
		return answer{}, err
	}
	data, err := a.svc.JobPart(ctx, j.ID, n)
	if err != nil {
		return answer{}, err
	}
	f, err := partFile(j, n, data)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, file: f}, nil
}

// pathNumber is the number of a part that the path has.
func pathNumber(q request, name string) (int, error) {
	n, err := strconv.ParseUint(q.http.PathValue(name), 10, 31)
	if err != nil {
		return 0, alloc.Errorf(alloc.CodeInvalidRequest, "a part of a job is a number, from 0")
	}
	return int(n), nil
}

// partFile is part n as a file. A table has its header in part 0 alone.
func partFile(j alloc.Job, n int, data []byte) (*file, error) {
	switch j.Kind {
	case alloc.JobSeed, alloc.JobCheck:
		return rejectsFile(j, n, data)
	case alloc.JobLog, alloc.JobAudit, alloc.JobRebuild, alloc.JobRestore:
		return &file{media: mediaLines, name: fmt.Sprintf("%s-%s-%d.jsonl", about(j), j.Kind, n), data: data}, nil
	}
	if j.Format != formatCSV {
		return &file{media: mediaLines, name: fmt.Sprintf("%s-%d.jsonl", j.Pool, n), data: data}, nil
	}
	f := &file{media: mediaRows, name: fmt.Sprintf("%s-%d.csv", j.Pool, n), data: data}
	if n == 0 {
		head, err := headOfCSV()
		if err != nil {
			return nil, err
		}
		f.media, f.data = mediaCSV, append(head, data...)
	}
	return f, nil
}

// about names what a job is about.
func about(j alloc.Job) string {
	return cmp.Or(string(j.Pool), string(j.Spec.Sequence), "trail")
}

// rejectsHeader names the columns of what a seeding did not add.
func rejectsHeader() []string { return []string{"line", "id", "outcome", "reason"} }

// rejectsFile is a part of what a seeding did not add. The domain keeps every text as it is; this is for spreadsheets.
func rejectsFile(j alloc.Job, n int, data []byte) (*file, error) {
	f := &file{media: mediaRows, name: fmt.Sprintf("%s-rejects-%d.csv", j.Pool, n)}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = len(rejectsHeader())
	rows, err := r.ReadAll()
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "a part of what was not added cannot be read").Because(err)
	}
	if n == 0 {
		f.media, rows = mediaCSV, append([][]string{rejectsHeader()}, rows...)
	}
	f.data, err = web.WriteCSV(rows)
	return f, err
}

// PartFile is part n of a job's result as a file: its media type, its name and what is in it.
func PartFile(j alloc.Job, n int, data []byte) (media, name string, content []byte, err error) {
	f, err := partFile(j, n, data)
	if err != nil {
		return "", "", nil, err
	}
	return f.media, f.name, f.data, nil
}
