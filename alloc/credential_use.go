package alloc

import (
	"context"
	"sync"
	"time"
)

// UsedEvery is how often at most a process keeps that a credential was used. So LastUsed costs at most one write in that time for each credential and process, and
// none for most requests.
const UsedEvery = 5 * time.Minute

// useTimeout bounds the keeping of a use, for which a request waits.
const useTimeout = 300 * time.Millisecond

// maxUses is how many credentials a process remembers.
const maxUses = 1000

// uses remembers of which credentials this process has kept, or tried to keep, a use.
type uses struct {
	mu   sync.Mutex
	kept map[CredentialID]time.Time
}

// due reports whether a use is to be kept now, and takes it for kept: what fails is not tried again before its time.
func (u *uses) due(id CredentialID, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if last, ok := u.kept[id]; ok && now.Sub(last) < UsedEvery && !now.Before(last) {
		return false
	}
	if u.kept == nil || len(u.kept) >= maxUses {
		u.kept = map[CredentialID]time.Time{} // they cost a write each to be had again
	}
	u.kept[id] = now
	return true
}

// used keeps that the credential was used. It is for people to look at: whatever becomes of it, the request goes on.
func (s *Service) used(ctx context.Context, id CredentialID, now time.Time) {
	if !s.uses.due(id, now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, useTimeout)
	defer cancel()
	_ = s.store.UseCredential(ctx, id, now) //nolint:errcheck // the next use in UsedEvery is kept, or that of another process
}

// withUses is the credentials with when they were last used.
func (s *Service) withUses(ctx context.Context, credentials []Credential) error {
	if len(credentials) == 0 {
		return nil
	}
	ids := make([]CredentialID, len(credentials))
	for i, c := range credentials {
		ids[i] = c.ID
	}
	last, err := s.store.CredentialUses(ctx, ids)
	if err != nil {
		return err
	}
	for i := range credentials {
		credentials[i].LastUsed = last[i]
	}
	return nil
}
