package dynamotest

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// Whatever somebody puts among the items of the trail, it goes on, can be read and can be verified: each record is there, in its place, and what is
// no record is none.
func TestTheTrailGoesOnWhateverIsPutAmongIt(t *testing.T) {
	put := func(pk, sk string, attrs dynamo.Item) func(*testing.T, *Memory) {
		return func(t *testing.T, m *Memory) {
			it := dynamo.Item{"pk": pk, "sk": sk}
			maps.Copy(it, attrs)
			if err := m.Put(t.Context(), it, dynamo.Cond{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	const chain = "A#2026-11"
	record := dynamo.Item{"id": "x", "at": int64(1), "res": "ok", "hash": "h"}
	for what, plant := range map[string]func(*testing.T, *Memory){
		"an item that has no position":               put(chain, "zzz", record),
		"an item before all positions":               put(chain, "!", record),
		"a position of too many digits":              put(chain, "000000000000000000020", record),
		"a position with a sign":                     put(chain, "+0000000000000000001", record),
		"a position behind which is more":            put(chain, "00000000000000000001x", record),
		"position 0":                                 put(chain, "00000000000000000000", record),
		"a position that is no number of 64 bits":    put(chain, "99999999999999999999", record),
		"what closes a month, in no place":           put(chain, "zzz", dynamo.Item{"next": "2099-01"}),
		"a month that is none, behind all":           put("A#months", "zzz", dynamo.Item{"last": int64(7), "hash": "h"}),
		"a month that is none, with a space":         put("A#months", "2026-11 x", dynamo.Item{"last": int64(7), "hash": "h"}),
		"a month that is none, with too many digits": put("A#months", "2026-111", dynamo.Item{"last": int64(7), "hash": "h"}),
		"a month before all":                         put("A#months", "!", dynamo.Item{"last": int64(7), "hash": "h"}),
	} {
		t.Run(what, func(t *testing.T) {
			r := newTrailRun(1, nil)
			now := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
			open := func() *dynamo.Store {
				s, err := dynamo.New(dynamo.Config{Table: r.mem, Now: func() time.Time { return now }})
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			n := 0
			add := func() {
				for range 3 {
					rec := alloc.AuditRecord{ID: fmt.Sprintf("step-%03d", n), At: now, Client: "c", Action: "pool.pause", Target: "pool/p", Result: "ok"}
					if err := open().Record(t.Context(), rec); err != nil {
						t.Fatal(err)
					}
					n++
				}
			}
			add()
			plant(t, r.mem)
			add()
			now = now.AddDate(0, 1, 0)
			add()
			r.now = now
			if wrong := r.verify(t.Context(), n); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// A record one of whose attributes is of another type is read, and is not intact.
func TestARecordOfAnotherTypeIsNotIntact(t *testing.T) {
	for _, attr := range []string{"id", "at", "by", "act", "det", "res", "prev", "hash", "next"} {
		m := NewMemory()
		s, err := dynamo.New(dynamo.Config{Table: m, Now: func() time.Time { return time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC) }})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			rec := alloc.AuditRecord{ID: fmt.Sprint("id-", i), At: time.Unix(5, 0), Client: "c", Role: "r", Action: "a", Target: "t", Detail: "d", Result: "ok"}
			if err := s.Record(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
		}
		it := m.Item(dynamo.Key{PK: "A#2026-11", SK: "00000000000000000002"})
		it[attr] = []string{"x"}
		if err := m.Put(t.Context(), it, dynamo.Cond{}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Chain(t.Context(), "2026-11", 0, 10)
		if err != nil || len(got) != 3 || got[1].Intact() != (attr == "next") {
			t.Errorf("%s: %d records, %v", attr, len(got), err)
		}
	}
}
