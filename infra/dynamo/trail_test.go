package dynamo_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

func TestTheTrailPagesFromTheNewestAndARepeatChangesNothing(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		s := process(t, table)
		var want []alloc.AuditRecord
		for i := range 7 {
			at := time.Date(2026, time.Month(1+i), 1, 0, 0, 0, 123456789, time.UTC) // months apart: no gap stops a page
			r := alloc.AuditRecord{
				ID: fmt.Sprintf("%s-%d", at.Format("20060102"), i), At: at, Client: "c", Action: "pool.create", Target: "pool/p",
				Detail: "words", Result: "ok", Request: "r", Address: "127.0.0.1",
			}
			want = append([]alloc.AuditRecord{r}, want...)
			refused(t, s.Record(t.Context(), r), "")
			r.Detail = "other words"
			refused(t, s.Record(t.Context(), r), "")
		}
		var got []alloc.AuditRecord
		for before := ""; ; before = got[len(got)-1].ID {
			page, err := process(t, table).Records(t.Context(), before, 3)
			refused(t, err, "")
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
