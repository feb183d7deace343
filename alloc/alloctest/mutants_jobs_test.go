package alloctest

import (
	"bytes"
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

var jobMutants = []mutant{
	{"the hash before the last rotation is not stored", []string{"a credential is read back", "ChangeCredential replaces all"}, func(m *Model) alloc.Store {
		return forgettingHash{m}
	}},
	{"a creation replaces what is there", []string{"a repeat of a creation with the same hash", "a creation with the ID of another", "a repeat of a job's creation"}, func(m *Model) alloc.Store {
		return replacing{m}
	}},
	{"a change replaces the client", []string{"ChangeCredential replaces all"}, func(m *Model) alloc.Store { return reassigning{m} }},
	{"a repeat of a change is a mismatch", []string{"ChangeCredential replaces all", "a change is known again", "ChangeJob replaces the job"}, func(m *Model) alloc.Store {
		return amnesiac{m}
	}},
	{"a change is made from whatever version", []string{
		"ChangeCredential from another version", "of many changes at once", "ChangeJob from another version", "of many steps of a job",
	}, func(m *Model) alloc.Store { return careless{m} }},
	{"revoked credentials are not listed", []string{"ListCredentials lists in the order"}, func(m *Model) alloc.Store { return hidingRevoked{m} }},
	{"each process has a shared secret of its own", []string{"the shared secret is 32", "a shared secret whose answer was lost"}, func(m *Model) alloc.Store {
		return &secretive{Model: m}
	}},

	{"a quota is read, then written", []string{"of many takers at once"}, func(m *Model) alloc.Store { return quotaLater{m} }},
	{"a quota gives all or nothing", []string{"TakeQuota gives what is asked for", "one call gets no more", "of many takers at once"}, func(m *Model) alloc.Store {
		return wholesale{m}
	}},
	{"all hours are one", []string{"each hour and each credential"}, func(m *Model) alloc.Store { return timeless{m} }},
	{"all credentials have one quota", []string{"each hour and each credential"}, func(m *Model) alloc.Store { return communal{m} }},
	{"the first limit stays", []string{"a limit that was changed"}, func(m *Model) alloc.Store { return &fixed{Model: m} }},

	{"a job stays for ever", []string{"a job and its parts count as absent"}, func(m *Model) alloc.Store { return immortal{m} }},
	{"the last part of a number stays", []string{"a part is kept byte for byte"}, func(m *Model) alloc.Store { return revising{m} }},
	{"a part is kept as text", []string{"a part is kept byte for byte"}, func(m *Model) alloc.Store { return partText{m} }},
	{"jobs are listed oldest first", []string{"ListJobs lists newest first"}, func(m *Model) alloc.Store { return risingJobs{m} }},

	{"a walk begins each page an ID too early", []string{"a walk meets each ID of a pool once", "C51 a walk meets IDs"}, func(m *Model) alloc.Store {
		return overlapping{m}
	}},
	{"a walk leaves out what is at the end of a page", []string{"a walk meets each ID of a pool once", "a walk beside claims"}, func(m *Model) alloc.Store {
		return skipping{m}
	}},
	{"a walk counts pages, not IDs", []string{"a walk beside claims"}, func(m *Model) alloc.Store { return byOffset{m} }},
	{"a walk does not look at the state", []string{"a walk of a state meets", "a walk of a pool without IDs"}, func(m *Model) alloc.Store {
		return stateless{m}
	}},
	{"a walk says nothing of owners", []string{"a walk meets each ID of a pool once", "a walk of a state meets"}, func(m *Model) alloc.Store {
		return discreet{m}
	}},
}

type forgettingHash struct{ *Model }

func (s forgettingHash) CreateCredential(ctx context.Context, c alloc.Credential) error {
	c.PreviousHash = ""
	return s.Model.CreateCredential(ctx, c)
}

func (s forgettingHash) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	c.PreviousHash = ""
	return s.Model.ChangeCredential(ctx, from, c)
}

type replacing struct{ *Model }

func (s replacing) CreateCredential(ctx context.Context, c alloc.Credential) error {
	s.data.mu.Lock()
	delete(s.data.credentials, c.ID)
	s.data.mu.Unlock()
	return s.Model.CreateCredential(ctx, c)
}

func (s replacing) CreateJob(ctx context.Context, j alloc.Job) error {
	s.data.mu.Lock()
	delete(s.data.jobs, j.ID)
	s.data.mu.Unlock()
	return s.Model.CreateJob(ctx, j)
}

type reassigning struct{ *Model }

func (s reassigning) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	client := c.Client
	c, err := s.Model.ChangeCredential(ctx, from, c)
	if err == nil {
		s.data.mu.Lock()
		defer s.data.mu.Unlock()
		c.Client = client
		s.data.credentials[c.ID] = c
	}
	return c, err
}

type amnesiac struct{ *Model }

func (s amnesiac) ChangeCredential(ctx context.Context, from alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	if there, err := s.Credential(ctx, c.ID); err == nil && there.Version != from {
		return alloc.Credential{}, alloc.VersionMismatch("credential", string(c.ID), there.Version)
	}
	return s.Model.ChangeCredential(ctx, from, c)
}

func (s amnesiac) ChangeJob(ctx context.Context, from alloc.Version, j alloc.Job) (alloc.Job, error) {
	if there, err := s.Job(ctx, j.ID); err == nil && there.Version != from {
		return alloc.Job{}, alloc.VersionMismatch("job", string(j.ID), there.Version)
	}
	return s.Model.ChangeJob(ctx, from, j)
}

type careless struct{ *Model }

func (s careless) ChangeCredential(ctx context.Context, _ alloc.Version, c alloc.Credential) (alloc.Credential, error) {
	there, err := s.Credential(ctx, c.ID)
	if err != nil {
		return there, err
	}
	return s.Model.ChangeCredential(ctx, there.Version, c)
}

func (s careless) ChangeJob(ctx context.Context, _ alloc.Version, j alloc.Job) (alloc.Job, error) {
	there, err := s.Job(ctx, j.ID)
	if err != nil {
		return there, err
	}
	return s.Model.ChangeJob(ctx, there.Version, j)
}

type hidingRevoked struct{ *Model }

func (s hidingRevoked) ListCredentials(ctx context.Context, after alloc.CredentialID, limit int) ([]alloc.Credential, error) {
	list, err := s.Model.ListCredentials(ctx, after, limit)
	return slices.DeleteFunc(list, func(c alloc.Credential) bool { return !c.Revoked.IsZero() }), err
}

type secretive struct {
	*Model
	own []byte
}

func (s *secretive) SharedSecret(ctx context.Context) ([]byte, error) {
	if s.own == nil {
		s.own = []byte(alloc.NewToken() + alloc.NewToken())[:32]
	}
	_, err := s.Model.SharedSecret(ctx)
	return s.own, err
}

type quotaLater struct{ *Model }

func (s quotaLater) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	at := modelHour{id, hour.Unix()}
	s.data.mu.Lock()
	before := s.data.quotas[at]
	s.data.mu.Unlock()
	meetAnother()
	s.data.mu.Lock()
	s.data.quotas[at] = before
	s.data.mu.Unlock()
	return s.Model.TakeQuota(ctx, id, hour, n, limit)
}

type wholesale struct{ *Model }

func (s wholesale) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	got, err := s.Model.TakeQuota(ctx, id, hour, n, limit)
	if got < n {
		return 0, err
	}
	return got, err
}

type timeless struct{ *Model }

func (s timeless) TakeQuota(ctx context.Context, id alloc.CredentialID, _ time.Time, n, limit alloc.Count) (alloc.Count, error) {
	return s.Model.TakeQuota(ctx, id, time.Time{}, n, limit)
}

type communal struct{ *Model }

func (s communal) TakeQuota(ctx context.Context, _ alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	return s.Model.TakeQuota(ctx, "", hour, n, limit)
}

type fixed struct{ *Model }

func (s *fixed) TakeQuota(ctx context.Context, id alloc.CredentialID, hour time.Time, n, limit alloc.Count) (alloc.Count, error) {
	first := modelHour{"the limit of " + id, hour.Unix()}
	s.data.mu.Lock()
	if s.data.quotas[first] == 0 {
		s.data.quotas[first] = limit
	}
	limit = s.data.quotas[first]
	s.data.mu.Unlock()
	return s.Model.TakeQuota(ctx, id, hour, n, limit)
}

type immortal struct{ *Model }

func (s immortal) Job(ctx context.Context, id alloc.JobID) (alloc.Job, error) {
	return s.Open(func() time.Time { return time.Time{} }).Job(ctx, id)
}

type revising struct{ *Model }

func (s revising) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	s.data.mu.Lock()
	if j := s.data.jobs[job]; j != nil {
		delete(j.parts, n)
	}
	s.data.mu.Unlock()
	return s.Model.PutPart(ctx, job, n, p)
}

type partText struct{ *Model }

func (s partText) PutPart(ctx context.Context, job alloc.JobID, n int, p alloc.Part) error {
	p.Data = bytes.ToValidUTF8(p.Data, []byte("?"))
	return s.Model.PutPart(ctx, job, n, p)
}

type risingJobs struct{ *Model }

func (s risingJobs) ListJobs(ctx context.Context, before alloc.JobID, limit int) ([]alloc.Job, error) {
	jobs, err := s.Model.ListJobs(ctx, before, limit)
	slices.Reverse(jobs)
	return jobs, err
}

type overlapping struct{ *Model }

func (s overlapping) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	page, next, err := s.Model.WalkIDs(ctx, pool, state, mark, limit)
	if next != "" && len(page) > 1 {
		next = string(page[len(page)-2].ID)
	}
	return page, next, err
}

type skipping struct{ *Model }

func (s skipping) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	page, next, err := s.Model.WalkIDs(ctx, pool, state, mark, limit)
	if next != "" {
		page = page[:len(page)-1]
	}
	return page, next, err
}

// byOffset takes how many IDs it has given as its mark.
type byOffset struct{ *Model }

func (s byOffset) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	all, _, err := s.Model.WalkIDs(ctx, pool, state, "", 1<<20)
	begin := min(len(mark), len(all))
	end := min(begin+limit, len(all))
	if err != nil || end == len(all) {
		return all[begin:], "", err
	}
	return all[begin:end], string(bytes.Repeat([]byte("x"), end)), nil
}

type stateless struct{ *Model }

func (s stateless) WalkIDs(ctx context.Context, pool alloc.PoolName, _ alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	return s.Model.WalkIDs(ctx, pool, "", mark, limit)
}

type discreet struct{ *Model }

func (s discreet) WalkIDs(ctx context.Context, pool alloc.PoolName, state alloc.State, mark string, limit int) ([]alloc.IDRecord, string, error) {
	page, next, err := s.Model.WalkIDs(ctx, pool, state, mark, limit)
	for i := range page {
		page[i].Owner = ""
	}
	return page, next, err
}
