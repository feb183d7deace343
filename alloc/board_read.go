package alloc

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Board returns how everything stood that the caller may read, at the end of the last run of the schedule; the zero Board where there is
// none. It costs the same few reads however much there is.
func (s *Service) Board(ctx context.Context) (Board, error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return Board{}, err
	}
	data, err := s.store.Board(ctx)
	if err != nil {
		return Board{}, err
	}
	b, err := decodeBoard(data)
	if err != nil {
		return Board{}, err
	}
	seen := Board{At: b.At, Throttled: b.Throttled, ThrottledAt: b.ThrottledAt}
	for _, p := range b.Pools {
		if caller.permits(ActionRead, string(p.Pool)) {
			seen.Pools = append(seen.Pools, p)
		}
	}
	for _, q := range b.Sequences {
		if caller.permits(ActionRead, string(q.Sequence)) {
			seen.Sequences = append(seen.Sequences, q)
		}
	}
	return seen, nil
}

// Order is that of a list by the board.
type Order string

// The orders.
const (
	ByUrgency   Order = "urgent" // the most urgent first
	ByName      Order = "name"
	ByAvailable Order = "available" // what has the fewest left first
)

// BoardQuery is what of a board is asked for.
type BoardQuery struct {
	Text  string // part of the name, in whatever case; "" for any
	State string // one of BoardStates, or of sequences of BoardSequenceStates; "" for any
	Order Order  // default ByUrgency
}

// BoardStates are the states that a BoardQuery may ask for.
func BoardStates() []string {
	return []string{string(PoolActive), "low", "empty", "dry", string(PoolPaused), string(PoolDraining), string(PoolDamaged)}
}

func (q BoardQuery) wants(p PoolOnBoard) bool {
	if !q.named(string(p.Pool)) {
		return false
	}
	switch q.State {
	case "":
		return true
	case "low":
		return p.IsLow()
	case "empty":
		return p.Empty()
	case "dry":
		return p.Dry != ""
	}
	return q.State == string(p.State)
}

// key is where a pool stands in the order; nothing else stands there.
func (q BoardQuery) key(p PoolOnBoard) string {
	switch q.Order {
	case ByName:
		return string(p.Pool)
	case ByAvailable:
		return fmt.Sprintf("%019d %s", p.Level.Available, p.Pool)
	}
	return p.urgency()
}

func (q BoardQuery) list(kind string) list {
	return list{kind: kind, of: fmt.Sprintf("%q %q %q", q.Order, q.State, q.Text)}
}

func (q BoardQuery) named(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(q.Text))
}

// boardPage is a page of rows in the order of their keys, of which no two are the same.
func boardPage[T any](
	ctx context.Context, s *Service, l list, c Cursor, limit int, rows []T, key func(T) string, wants func(T) bool,
) (page []T, next Cursor, err error) {
	after, err := s.cursors.position(ctx, l, c)
	if err != nil {
		return nil, "", err
	}
	for _, row := range byKey(rows, key) {
		if !wants(row) || c != "" && key(row) <= after {
			continue
		}
		if len(page) == limit {
			next, err = s.cursors.at(ctx, l, key(page[limit-1]))
			return page, next, err
		}
		page = append(page, row)
	}
	return page, "", nil
}

// PoolSeen is a pool as it stands now, and as it stood on the board. Its configuration is without what fills it, and its Marks are those of the
// board, at the rates of then; but for one that was never on a board, which has all.
type PoolSeen struct {
	PoolStatus
	Board PoolOnBoard // its At is zero for one that was never on a board
}

// PoolsBy lists at most limit (1 to 100) pools of a board that Board has returned, as the query says, with their levels as they are now,
// at two reads a pool and one more. next is what to give to go on, "" at the end; a pool whose place in the order has changed in
// between may be met twice, or not at all, and one that has left the state that is asked for is left out. Where there are fewer than 100 pools, those that were made since the board are among them. Without a
// board all are, in the order of their names, and what a level decides is not known of any. Pools that are deleted are left out.
func (s *Service) PoolsBy(ctx context.Context, b Board, q BoardQuery, c Cursor, limit int) (pools []PoolSeen, next Cursor, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	if b.At.IsZero() {
		return s.poolsByName(ctx, q, c, limit)
	}
	rows, known, err := s.addNew(ctx, caller, b.Pools)
	if err != nil {
		return nil, "", err
	}
	page, next, err := boardPage(ctx, s, q.list("board pools"), c, limit, rows, q.key, q.wants)
	if err != nil {
		return nil, "", err
	}
	if pools, err = s.seen(ctx, page, known); err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(pools, q.isOver), next, nil
}

// isOver reports whether the pool has left the state that is asked for since the board.
func (q BoardQuery) isOver(p PoolSeen) bool {
	row := p.Board
	row.State = p.Pool.State
	return row.State != p.Board.State && !q.wants(row)
}

// poolsByName is PoolsBy without a board.
func (s *Service) poolsByName(ctx context.Context, q BoardQuery, c Cursor, limit int) (pools []PoolSeen, next Cursor, err error) {
	found, next, err := readable(ctx, s, q.list("pools without a board"), c, limit, s.store.ListPools, func(p Pool) entry[PoolName] {
		hidden := p.State == PoolDeleted || !q.wants(PoolOnBoard{Pool: p.Name, State: p.State})
		return entry[PoolName]{position: p.Name, name: string(p.Name), hidden: hidden}
	})
	if err != nil {
		return nil, "", err
	}
	for _, st := range s.statuses(ctx, found) {
		pools = append(pools, PoolSeen{PoolStatus: st, Board: PoolOnBoard{Pool: st.Pool.Name, State: st.Pool.State}})
	}
	return pools, next, nil
}

// addNew returns the rows with the pools that are not on the board, where few pools are there in all, and what it has read of them; nil
// for nothing.
func (s *Service) addNew(ctx context.Context, caller Caller, rows []PoolOnBoard) ([]PoolOnBoard, map[PoolName]Pool, error) {
	if len(rows) > maxPage {
		return rows, nil, nil
	}
	first, err := s.store.ListPools(ctx, "", maxPage)
	if err != nil {
		return nil, nil, err
	}
	before := map[PoolName]PoolOnBoard{}
	for _, p := range rows {
		before[p.Pool] = p
	}
	known := map[PoolName]Pool{}
	all := slices.Clone(rows)
	for _, p := range first {
		known[p.Name] = p
		if _, there := before[p.Name]; !there && p.State != PoolDeleted && caller.permits(ActionRead, string(p.Name)) {
			all = append(all, PoolOnBoard{Pool: p.Name, State: p.State})
		}
	}
	for i, p := range all {
		if now, ok := known[p.Pool]; ok {
			all[i].State = now.State
		}
	}
	return all, known, nil
}

// seen reads how the pools stand now; known are those that were read with all their configuration. What is on the board is read at once.
func (s *Service) seen(ctx context.Context, page []PoolOnBoard, known map[PoolName]Pool) (pools []PoolSeen, err error) {
	var names []PoolName
	var fresh []Pool
	for _, row := range page {
		if p, ok := known[row.Pool]; ok && row.At.IsZero() {
			fresh = append(fresh, p)
		} else {
			names = append(names, row.Pool)
		}
	}
	var levels []PoolLevel
	if len(names) > 0 {
		if levels, err = s.store.PoolLevels(ctx, names); err != nil {
			return nil, err
		}
	}
	statuses := s.statuses(ctx, fresh)
	for _, row := range page {
		p := PoolSeen{Board: row}
		if _, ok := known[row.Pool]; ok && row.At.IsZero() {
			p.PoolStatus, statuses = statuses[0], statuses[1:]
		} else {
			p.PoolStatus, levels = row.with(levels[0]), levels[1:]
		}
		if p.Pool.State != PoolDeleted {
			pools = append(pools, p)
		}
	}
	return pools, nil
}

// with is how the pool stands now. Of what fills it, it says what the board says.
func (p PoolOnBoard) with(now PoolLevel) PoolStatus {
	st := PoolStatus{Pool: now.Pool, Level: now.Level, LevelError: now.Err}
	if now.Err != nil {
		if st.Pool.State = p.State; CodeOf(now.Err) == CodePoolDamaged {
			st.Pool.State = PoolDamaged
		}
		return st
	}
	st.Pool.Config.Marks = Marks{Low: p.Low, Target: p.Target}
	if p.Filled || st.Pool.Config.Marks != (Marks{}) {
		st.Refill = &RefillStatus{Low: now.Level.Available < p.Low, Filling: p.Filling, Dry: p.Dry}
	}
	return st
}
