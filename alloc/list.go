package alloc

import (
	"cmp"
	"context"
)

// A list reads its first page as large as what is asked for. If too little of it may be shown, it goes on in the largest
// pages, so that it comes past many entries in few calls, and ends after listPages of them whatever it has found: the work
// for one request is bounded, also for a caller who may see few of very many.
const (
	maxPage   = 100
	listPages = 10
)

// entry is what a list has to know of one of its entries.
type entry[P ~string] struct {
	position P      // where the list goes on after it
	name     string // whoever is permitted need on this may see it
	need     Action // default ActionRead
	or       Action // whoever is permitted this may see it as well; "" for none
	hidden   bool   // nobody may see it
}

// readable returns at most limit entries of a list that the caller may see, from the cursor on; next is what to give to
// go on, "" at the end.
func readable[P ~string, T any](
	ctx context.Context, s *Service, l list, c Cursor, limit int, read func(ctx context.Context, after P, limit int) ([]T, error), look func(T) entry[P],
) (found []T, next Cursor, err error) {
	caller, err := s.someone(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	position, err := s.cursors.position(ctx, l, c)
	if err != nil {
		return nil, "", err
	}
	found, end, err := filtered(ctx, caller, P(position), limit, read, look)
	if err != nil {
		return nil, "", err
	}
	if next, err = s.cursors.at(ctx, l, string(end)); err != nil {
		return nil, "", err
	}
	return found, next, nil
}

// filtered is readable with positions in the place of cursors.
func filtered[P ~string, T any](
	ctx context.Context, caller Caller, after P, limit int, read func(ctx context.Context, after P, limit int) ([]T, error), look func(T) entry[P],
) (found []T, next P, err error) {
	size := limit
	for range listPages {
		page, err := read(ctx, after, size)
		if err != nil {
			return nil, "", err
		}
		for _, one := range page {
			e := look(one)
			after = e.position
			if e.hidden || !caller.permits(cmp.Or(e.need, ActionRead), e.name) && (e.or == "" || !caller.permits(e.or, e.name)) {
				continue
			}
			found = append(found, one)
			if len(found) == limit {
				return found, after, nil
			}
		}
		if len(page) < size {
			return found, "", nil
		}
		size = maxPage
	}
	return found, after, nil
}

// paged reads one page of a list that is shown as a whole or not at all, from the cursor on; next is what to give to go
// on, "" at the end. It begins after the permission check.
func paged[T any](
	ctx context.Context, s *Service, l list, c Cursor, limit int, read func(ctx context.Context, after string, limit int) ([]T, error), position func(T) string,
) (page []T, next Cursor, err error) {
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	after, err := s.cursors.position(ctx, l, c)
	if err != nil {
		return nil, "", err
	}
	page, err = read(ctx, after, limit)
	if err != nil || len(page) < limit {
		return page, "", err
	}
	if next, err = s.cursors.at(ctx, l, position(page[limit-1])); err != nil {
		return nil, "", err
	}
	return page, next, nil
}

func checkPage(limit int) error {
	if limit < 1 || limit > maxPage {
		return Errorf(CodeInvalidCount, "limit must be 1 to %d", maxPage)
	}
	return nil
}
