package alloc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// What a seeding leaves in the trail: that it was opened, and started with which bytes; how it ended, with its counts. The parts
// of its file leave none of their own.

// shownDigests is of how many parts the digests are shown, one by one.
const shownDigests = 40

// digests says which bytes the job's file has: of each part the first 16 hexadecimal digits of its SHA-256, or of one part all;
// of very many parts the SHA-256 of all their digests, a line each.
func (j Job) digests() string {
	var text strings.Builder
	switch n := len(j.Inputs); {
	case n == 1:
		return "sha256 " + j.Inputs[0].Digest
	case n > shownDigests:
		for _, in := range j.Inputs {
			text.WriteString(in.Digest + "\n")
		}
		sum := sha256.Sum256([]byte(text.String()))
		return "sha256 of their digests " + hex.EncodeToString(sum[:])
	}
	text.WriteString("sha256")
	for _, in := range j.Inputs {
		fmt.Fprintf(&text, " %.16s", in.Digest)
	}
	return text.String()
}

// recordDone writes that the job is done, as to will be. It is part of the last step, and may be done again or by several, also by
// one that then does not change the job, as somebody has cancelled it: what was added was added. So it is named after the
// job, and the time that all of them know.
func (s *Service) recordDone(ctx context.Context, before, to Job) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	return s.keep(ctx, by(caller, AuditRecord{
		ID: recordID(before.Updated, Token(to.ID)), At: s.now().UTC(), Action: string(aPool) + ".done-seed", Target: aPool.target(string(to.Pool)),
		Detail: fmt.Sprintf("job %s of %s: %s", to.ID, to.By, seedSum(to)), Result: "ok",
	}))
}

// recordFailed writes that the job has failed.
func (s *Service) recordFailed(ctx context.Context, j Job, reason error) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("job %s of %s: %s; %s", j.ID, j.By, seedSum(j), j.Failure)
	return s.record(ctx, caller, aPool, string(j.Pool), "fail-seed", detail, reason)
}

// recordGivenUp writes that the job was given up before its file was there.
func (s *Service) recordGivenUp(ctx context.Context, j Job) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("job %s of %s: after %s with %s no more of its file has come for %s",
		j.ID, j.By, several(len(j.Inputs), "part", "parts"), several(j.Total, "entry", "entries"), receivingFor)
	return s.record(ctx, caller, aPool, string(j.Pool), "give-up-"+string(j.Kind), detail, nil)
}
