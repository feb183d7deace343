package alloctest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"idpool/alloc"
)

var inputMutants = []mutant{
	{"a job keeps its first hundred parts", []string{"a job is kept in every field"}, keepingJob(func(j *alloc.Job) { j.Inputs = j.Inputs[:min(100, len(j.Inputs))] })},
	{"a job keeps no events", []string{"a job is kept in every field", "a job is read back"}, keepingJob(func(j *alloc.Job) { j.Log = nil })},
	{"a job keeps no tally of what it counted", []string{"a job is kept in every field", "a job is read back"}, keepingJob(func(j *alloc.Job) {
		j.Tally = alloc.Tally{Added: j.Tally.Added, Duplicate: j.Tally.Duplicate, Conflict: j.Tally.Conflict, Invalid: j.Tally.Invalid}
	})},
	{"a job keeps no header mode", []string{"a job is kept in every field", "a job is read back"}, keepingJob(func(j *alloc.Job) { j.Input.Header = "" })},
	{"a change of a job adds to its lists", []string{"a job is kept in every field"}, func(m *Model) alloc.Store { return addingLists{m} }},
	{"a repeat of a job's change is known by its mark", []string{"a change of a job that differs"}, func(m *Model) alloc.Store { return byMark{m} }},
	{"a part keeps no tally", []string{"a part is kept byte for byte"}, func(m *Model) alloc.Store { return untallied{m} }},

	{"jobs that have ended are open", []string{
		"OpenJobs lists the jobs", "a job is open in every state", "a few open jobs", "a job whose creation or end", "no open job is missed", "a change that is refused neither",
	}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		return s.all(after, limit, func(alloc.Job) bool { return true })
	})},
	{"jobs on the way in are not open", []string{"OpenJobs lists the jobs", "a job is open in every state", "a job that never ended"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		return s.all(after, limit, func(j alloc.Job) bool { return !j.State.Ended() && j.State != alloc.JobReceiving })
	})},
	{"failed jobs are open", []string{"OpenJobs lists the jobs", "a job is open in every state", "a few open jobs"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		return s.all(after, limit, func(j alloc.Job) bool { return !j.State.Ended() || j.State == alloc.JobFailed })
	})},
	{"open jobs come newest first", []string{"OpenJobs lists the jobs", "a few open jobs"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		jobs := s.open(after, limit)
		slices.Reverse(jobs)
		return jobs
	})},
	{"open jobs are looked for among the first hundred", []string{"a few open jobs"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		seen := 0
		return s.all(after, limit, func(j alloc.Job) bool { seen++; return seen <= size(100) && !j.State.Ended() })
	})},
	{"a page of open jobs begins with the last of the one before", []string{"OpenJobs lists the jobs"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		jobs := s.open("", 1<<20)
		i := slices.IndexFunc(jobs, func(j alloc.Job) bool { return j.ID >= after })
		if i < 0 || limit == 1 {
			return s.open(after, limit)
		}
		return jobs[i:min(i+limit, len(jobs))]
	})},
	{"open jobs are listed without their events", []string{"OpenJobs lists the jobs"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		jobs := s.open(after, limit)
		for i := range jobs {
			jobs[i].Log = nil
		}
		return jobs
	})},
	{"a job stays open for ever", []string{"a job that never ended"}, openingJobs(func(s openJobs, after alloc.JobID, limit int) []alloc.Job {
		s.Model = s.Open(func() time.Time { return time.Time{} })
		return s.open(after, limit)
	})},
	{"a refused change ends a job", []string{"a change that is refused neither"}, func(m *Model) alloc.Store { return endingAll{m} }},

	{"the last piece of a name stays", []string{"a piece of input is kept byte for byte"}, func(m *Model) alloc.Store { return revisingInput{m} }},
	{"a piece is kept as text", []string{"a piece of input is kept byte for byte"}, func(m *Model) alloc.Store {
		return inputting{m, func(name string, data []byte) (string, []byte) { return name, bytes.ToValidUTF8(data, []byte("?")) }}
	}},
	{"a piece is cut at 256 KiB", []string{"a piece of input is kept byte for byte"}, func(m *Model) alloc.Store {
		return inputting{m, func(name string, data []byte) (string, []byte) { return name, data[:min(256<<10, len(data))] }}
	}},
	{"an empty piece is none", []string{"a piece of input is kept byte for byte"}, func(m *Model) alloc.Store { return emptyIsNone{m} }},
	{"names of pieces are compared in one case", []string{"pieces whose names begin alike"}, func(m *Model) alloc.Store {
		return inputting{m, func(name string, data []byte) (string, []byte) { return strings.ToLower(name), data }}
	}},
	{"a piece is found by the beginning of its name", []string{"pieces whose names begin alike"}, func(m *Model) alloc.Store { return beginning{m} }},
	{"all jobs have their pieces in one place", []string{"pieces whose names begin alike"}, func(m *Model) alloc.Store { return onePlace{m} }},
	{"pieces stay for ever", []string{"pieces count as absent"}, func(m *Model) alloc.Store { return immortalInput{m} }},
	{"a piece is kept where there is no job", []string{"a piece that is not there"}, func(m *Model) alloc.Store { return jobless{m} }},
}

// keepingJob keeps something else than what it is told.
func keepingJob(change func(j *alloc.Job)) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return jobKeeping{m, change} }
}

type jobKeeping struct {
	*Model
	change func(j *alloc.Job)
}

func (s jobKeeping) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	j, err := s.Model.Job(ctx, id)
	s.change(&j)
	return j, err
}

type addingLists struct{ *Model }

func (s addingLists) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	if there, err := s.Model.Job(ctx, j.ID); err == nil && there.Version == from {
		j.Log = append(there.Log, j.Log...)
	}
	return s.Model.ChangeJob(ctx, from, j)
}

type byMark struct{ *Model }

func (s byMark) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	if there, err := s.Model.Job(ctx, j.ID); err == nil && there.Version == from+1 && there.Mark == j.Mark {
		return there, nil
	}
	return s.Model.ChangeJob(ctx, from, j)
}

type untallied struct{ *Model }

func (s untallied) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	p.Tally = alloc.Tally{}
	return s.Model.PutPart(ctx, job, n, p)
}

// openJobs lists open jobs in another way.
type openJobs struct {
	*Model
	by func(s openJobs, after alloc.JobID, limit int) []alloc.Job
}

func openingJobs(by func(s openJobs, after alloc.JobID, limit int) []alloc.Job) func(m *Model) alloc.Store {
	return func(m *Model) alloc.Store { return openJobs{m, by} }
}

func (s openJobs) OpenJobs(ctx context.Context, after alloc.JobID, limit int) ([]alloc.Job, error) {
	if _, err := s.Model.OpenJobs(ctx, after, limit); err != nil {
		return nil, err
	}
	return s.by(s, after, limit), nil
}

// open is what the Model lists.
func (s openJobs) open(after alloc.JobID, limit int) []alloc.Job {
	return s.all(after, limit, func(j alloc.Job) bool { return !j.State.Ended() })
}

// all lists the jobs that the filter takes.
func (s openJobs) all(after alloc.JobID, limit int, takes func(j alloc.Job) bool) (found []alloc.Job) {
	jobs, err := s.ListJobs(context.Background(), "", 1<<20)
	slices.Reverse(jobs)
	for _, j := range jobs {
		if err == nil && j.ID > after && takes(j) && len(found) < limit {
			found = append(found, j)
		}
	}
	return found
}

type endingAll struct{ *Model }

func (s endingAll) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	changed, err := s.Model.ChangeJob(ctx, from, j)
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	if there := s.data.jobs[j.ID]; there != nil && alloc.Is(err, alloc.CodeVersionMismatch) {
		there.State = j.State
	}
	return changed, err
}

// inputting keeps pieces in another way.
type inputting struct {
	*Model
	as func(name string, data []byte) (string, []byte)
}

func (s inputting) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	name, data = s.as(name, data)
	return s.Model.PutInput(ctx, job, name, data)
}

func (s inputting) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	name, _ = s.as(name, nil)
	return s.Model.Input(ctx, job, name)
}

type revisingInput struct{ *Model }

func (s revisingInput) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	s.data.mu.Lock()
	if j := s.data.jobs[job]; j != nil {
		delete(j.inputs, name)
	}
	s.data.mu.Unlock()
	return s.Model.PutInput(ctx, job, name, data)
}

type emptyIsNone struct{ *Model }

func (s emptyIsNone) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	data, err := s.Model.Input(ctx, job, name)
	if err == nil && len(data) == 0 {
		return nil, alloc.JobNotFound(job)
	}
	return data, err
}

type beginning struct{ *Model }

func (s beginning) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	s.data.mu.Lock()
	if j := s.data.jobs[job]; j != nil && j.inputs[name] == nil {
		for other := range j.inputs {
			if strings.HasPrefix(other, name) {
				name = other
			}
		}
	}
	s.data.mu.Unlock()
	return s.Model.Input(ctx, job, name)
}

type onePlace struct{ *Model }

func (s onePlace) PutInput(ctx context.Context, _ alloc.JobID, name string, data []byte) error {
	return s.Model.PutInput(ctx, s.first(), name, data)
}

func (s onePlace) Input(ctx context.Context, _ alloc.JobID, name string) ([]byte, error) {
	return s.Model.Input(ctx, s.first(), name)
}

func (s onePlace) first() (id alloc.JobID) {
	s.data.mu.Lock()
	defer s.data.mu.Unlock()
	for other := range s.data.jobs {
		if id == "" || other < id {
			id = other
		}
	}
	return id
}

type immortalInput struct{ *Model }

func (s immortalInput) Input(ctx context.Context, job alloc.JobID, name string) ([]byte, error) {
	return s.Open(func() time.Time { return time.Time{} }).Input(ctx, job, name)
}

type jobless struct{ *Model }

func (s jobless) PutInput(ctx context.Context, job alloc.JobID, name string, data []byte) error {
	err := s.Model.PutInput(ctx, job, name, data)
	if alloc.Is(err, alloc.CodeJobNotFound) {
		return nil
	}
	return err
}
