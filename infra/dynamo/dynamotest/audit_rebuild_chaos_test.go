package dynamotest

import (
	"testing"

	"idpool/infra/dynamo"
)

// auditedRebuilds are those that are rebuilt too. Where something is harmed before that, there is something to be
// found: then nobody audits.
func auditedRebuilds(t *testing.T, seed uint64, mutate func(dynamo.Table) dynamo.Table) runner {
	r := newPoolRun(t, seed, mutate)
	r.rebuildsToo()
	if !r.rebuilds.harm {
		for range 2 + len(r.forms)/4 {
			r.forms = append(r.forms, r.audits)
		}
	}
	if r.rebuilds.harm {
		return r
	}
	return &auditedRun{r}
}

func TestModelOfAuditsBesideRebuilds(t *testing.T) {
	search(t, auditedRebuilds, 100, "an audit that came to its end", "a late write that was applied")
}
