package alloctest

import (
	"testing"

	"idpool/alloc"
)

// SetCounter sets a sequence's counter by hand; its ledger stays.
func (m *Model) SetCounter(name alloc.SequenceName, next alloc.Number) {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if q := m.data.sequences[name]; q != nil {
		q.Next = next
	}
}

// DropCounter loses a sequence's counter; its ledger stays.
func (m *Model) DropCounter(name alloc.SequenceName) {
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if q := m.data.sequences[name]; q != nil {
		q.lost = true
	}
}

// Damage does the harm to the data, as Fixture.Damage says.
func (m *Model) Damage(t testing.TB, d Damage) {
	t.Helper()
	m.data.mu.Lock()
	defer m.data.mu.Unlock()
	if !m.data.damage(d) {
		t.Fatalf("Damage: got %+v, which names nothing that is there", d)
	}
}

// damage reports whether what is named is there.
func (d *modelData) damage(harm Damage) bool {
	if harm.Kind == LoseRecord || harm.Kind == ChangeRecord {
		return d.trail.damage(harm)
	}
	if p := d.pools[harm.Pool]; p != nil {
		return p.damage(harm)
	}
	if q := d.sequences[harm.Sequence]; q != nil {
		return q.damage(harm)
	}
	return false
}

func (p *modelPool) damage(harm Damage) bool {
	switch harm.Kind {
	case LoseHead:
		p.lost = true
	case LoseCopy:
		p.uncopied = true
	case LoseQueue:
		for _, r := range p.ids {
			r.unlisted = r.State == alloc.StateFree
		}
		clear(p.gone) // nothing lists them any more
	case SkewCount:
		p.seeded++
	case LoseID:
		if p.ids[harm.ID] == nil {
			return false
		}
		delete(p.ids, harm.ID)
		p.gone[harm.ID] = true
	case LoseTrace:
		if p.ids[harm.ID] == nil {
			return false
		}
		delete(p.ids, harm.ID)
	default:
		return false
	}
	return true
}

func (q *modelSequence) damage(harm Damage) bool {
	switch harm.Kind {
	case LoseSequenceCopy:
		q.copied = 0
	case LoseMark:
		q.marked = nil
	case CutLedger:
		kept := q.ledger[:0]
		for _, l := range q.ledger {
			if l.Start < harm.Number {
				kept = append(kept, l)
			}
		}
		q.ledger = kept
	case DamageLease:
		for i := range q.ledger {
			if q.ledger[i].Start == harm.Number {
				q.ledger[i].damaged = true
				return true
			}
		}
		return false
	default:
		return false
	}
	return true
}

func (t *modelTrail) damage(harm Damage) bool {
	chain := t.chains[harm.Month]
	for i, r := range chain {
		if r.Position != harm.Position {
			continue
		}
		if harm.Kind == LoseRecord {
			t.chains[harm.Month] = append(chain[:i:i], chain[i+1:]...)
		} else {
			chain[i].Detail = "changed by hand"
		}
		return true
	}
	return false
}
