package alloctest

import (
	"bytes"
	"context"

	"idpool/alloc"
)

// OpenKey implements alloc.Keys.
func (m *Model) OpenKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (stands alloc.Kept, err error) {
	err = m.step(ctx, func(d *modelData) error {
		k, found, err := lookup(d.kept, &key, m.now())
		if err != nil {
			return err
		}
		if !found {
			k = alloc.Kept{Token: token, At: m.now(), Done: answer != nil, Answer: bytes.Clone(answer)}
			d.keep(key, k)
		}
		if !k.Done && k.Token != token && !k.Shared {
			k.Shared = true
			d.keep(key, k)
		}
		stands = copied(k)
		return nil
	})
	return stands, err
}

// FindKey implements alloc.Keys.
func (m *Model) FindKey(ctx context.Context, key alloc.Key) (k alloc.Kept, ok bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		k, ok, err = lookup(d.kept, &key, m.now())
		k = copied(k)
		return err
	})
	return k, ok, err
}

// CloseKey implements alloc.Keys.
func (m *Model) CloseKey(ctx context.Context, key alloc.Key, token alloc.Token, answer []byte) (is alloc.Kept, err error) {
	err = m.step(ctx, func(d *modelData) error {
		k, found, err := lookup(d.kept, &key, m.now())
		if err != nil || !found || k.Token != token { // gone, or replaced by one of another attempt
			is = alloc.Kept{Token: token, At: m.now(), Done: true, Answer: bytes.Clone(answer)}
			return nil
		}
		if !k.Done {
			k.Done, k.Answer, k.Shared = true, bytes.Clone(answer), false
			d.keep(key, k)
		}
		is = copied(k)
		return nil
	})
	return is, err
}

// DropKey implements alloc.Keys.
func (m *Model) DropKey(ctx context.Context, key alloc.Key, token alloc.Token) (left alloc.Kept, ok bool, err error) {
	err = m.step(ctx, func(d *modelData) error {
		key.Fingerprint = d.kept[key.Hash].fingerprint // the token tells whose the record is
		k, found, err := lookup(d.kept, &key, m.now())
		switch {
		case err != nil || !found || k.Token != token: // gone, or replaced by one of another attempt
		case k.Done || k.Shared:
			left, ok = copied(k), true
		default:
			delete(d.kept, key.Hash)
		}
		return nil
	})
	return left, ok, err
}

func (d *modelData) keep(key alloc.Key, k alloc.Kept) {
	d.kept[key.Hash] = keyed[alloc.Kept]{fingerprint: key.Fingerprint, born: k.At, answer: k}
}

// copied shares no memory with what the Model has.
func copied(k alloc.Kept) alloc.Kept {
	k.Answer = bytes.Clone(k.Answer)
	return k
}
