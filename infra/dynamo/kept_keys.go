package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// The record of a keyed request that keeps its answer is an item K#hash K like the key record of a claim or a lease. The
// operation is a part of the hash, so no kind meets another. It goes from open to done, or to failed, which is how one
// that was dropped is called: it counts as absent and stays until it expires, so that a late write of its opening finds
// it, and is replaced on its own token only. Every transition tests the token: an attempt that overruns its time cannot
// touch the record of a later one. An open one that a second attempt has found is shared, and is not dropped any more: the
// condition of the drop meets what that attempt wrote before it began its work.

// Values of AttrState in records that keep an answer, beside RecordFailed.
const (
	RecordOpen = "o" // the intent: the work may be under way, or cut off
	RecordDone = "d"
)

// Attributes of records that keep an answer.
const (
	AttrAnswer = "an"
	AttrOpened = "at" // when, in nanoseconds
	AttrShared = "sh" // of an open one: more attempts than the first have found it
)

func keptItem(key alloc.Key, token alloc.Token, answer []byte, now time.Time) Item {
	it := item(recordKey(key.Hash), Item{
		AttrState: RecordOpen, AttrToken: string(token), AttrPrint: key.Fingerprint, AttrOpened: now.UnixNano(),
		AttrExpires: keyExpiry(now),
	})
	if answer != nil {
		it[AttrState], it[AttrAnswer] = RecordDone, answer
	}
	return it
}

func decodeKept(it Item) alloc.Kept {
	k := alloc.Kept{Token: alloc.Token(it.Str(AttrToken)), At: fromNanos(it.Int(AttrOpened)), Done: it.Str(AttrState) == RecordDone}
	k.Shared = !k.Done && it.Bool(AttrShared)
	if k.Done {
		k.Answer = append([]byte{}, it.Bytes(AttrAnswer)...) // one without a byte is an answer too
	}
	return k
}

// OpenKey implements alloc.Keys.
func (s *Store) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	if err := checkAnswer(answer); err != nil {
		return alloc.Kept{}, err
	}
	it := keptItem(key, token, answer, s.now())
	for range changeTries {
		there, err := s.putWhereNone(ctx, it, func(old Item) bool { return !absentRecord(old, s.now()) })
		if err != nil {
			return alloc.Kept{}, err
		}
		if there == nil {
			return decodeKept(it), nil
		}
		// Ours may be among them, put by this very call or one before it. Whose it is does not matter to the comparison.
		k, err := keptFor(key, there)
		if err != nil || k.Done || k.Shared || k.Token == token {
			return k, err
		}
		shared, err := s.shareKey(ctx, key, k.Token)
		if _, met := refusedBy(err); !met {
			return decodeKept(shared), err
		}
		// It has just been closed or dropped.
	}
	return alloc.Kept{}, keyContended()
}

// shareKey marks the open record of the token before whoever found it begins: it is not dropped any more.
func (s *Store) shareKey(ctx context.Context, key alloc.Key, token alloc.Token) (Item, error) {
	return s.table.Update(ctx, recordKey(key.Hash), Update{Set: map[string]any{AttrShared: true}},
		All(Eq(AttrToken, string(token)), Eq(AttrState, RecordOpen)))
}

// keptFor is the record that counts, if it is for the same request.
func keptFor(key alloc.Key, it Item) (alloc.Kept, error) {
	if it.Str(AttrPrint) != key.Fingerprint {
		return alloc.Kept{}, alloc.KeyMismatch()
	}
	return decodeKept(it), nil
}

// FindKey implements alloc.Keys.
func (s *Store) FindKey(ctx context.Context, key alloc.Key) (k alloc.Kept, ok bool, err error) {
	it, err := s.table.Get(ctx, recordKey(key.Hash))
	if err != nil || absentRecord(it, s.now()) {
		return alloc.Kept{}, false, err
	}
	k, err = keptFor(key, it)
	return k, err == nil, err
}

// CloseKey implements alloc.Keys.
func (s *Store) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (alloc.Kept, error) {
	if err := checkAnswer(answer); err != nil {
		return alloc.Kept{}, err
	}
	if answer == nil {
		answer = []byte{}
	}
	now := s.now()
	it, err := s.table.Update(ctx, recordKey(key.Hash), Update{Set: map[string]any{AttrState: RecordDone, AttrAnswer: answer}},
		All(Eq(AttrToken, string(token)), Eq(AttrState, RecordOpen), Gt(AttrExpires, now.Unix())))
	old, met := refusedBy(err)
	switch {
	case err == nil:
		return decodeKept(it), nil
	case !met:
		return alloc.Kept{}, err
	case old.Str(AttrToken) == string(token) && old.Str(AttrState) == RecordDone && !expired(old, now):
		return decodeKept(old), nil // by this very call, or by another that carried it out
	}
	return alloc.Kept{Token: token, At: now.UTC(), Done: true, Answer: answer}, nil
}

// DropKey implements alloc.Keys.
func (s *Store) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) (k alloc.Kept, ok bool, err error) {
	_, err = s.table.Update(ctx, recordKey(key.Hash), Update{Set: map[string]any{AttrState: RecordFailed}, Quiet: true},
		All(Eq(AttrToken, string(token)), Eq(AttrState, RecordOpen), Absent(AttrShared)))
	old, met := refusedBy(err)
	switch {
	case !met:
		return alloc.Kept{}, false, err
	case absentRecord(old, s.now()) || old.Str(AttrToken) != string(token):
		return alloc.Kept{}, false, nil
	}
	return decodeKept(old), true, nil
}

// checkAnswer refuses what an item has no room for, before anything is done.
func checkAnswer(answer []byte) error {
	if len(answer) > alloc.MaxAnswerBytes {
		return alloc.Errorf(alloc.CodeInternal, "the answer is too long to be kept with its Idempotency-Key")
	}
	return nil
}
