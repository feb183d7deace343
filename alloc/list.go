package alloc

import "context"

// A list reads its first page as large as what is asked for. If too little of it may be shown, it goes on in the largest
// pages, so that it comes past many names in few calls, and ends after listPages of them whatever it has found: the work
// for one request is bounded, also for a caller who may see few of very many.
const (
	maxPage   = 100
	listPages = 10
)

// readable returns at most limit entries of a list by names, after the name given, that are there and that the caller
// may read; next is what to give to go on, "" at the end. look gives an entry's name and whether it is there.
func readable[N ~string, T any](
	ctx context.Context, after N, limit int, list func(ctx context.Context, after N, limit int) ([]T, error), look func(T) (N, bool),
) (found []T, next N, err error) {
	caller, err := someone(ctx)
	if err != nil {
		return nil, "", err
	}
	if after != "" {
		if err := CheckName(string(after)); err != nil {
			return nil, "", err
		}
	}
	if err := checkPage(limit); err != nil {
		return nil, "", err
	}
	size := limit
	for range listPages {
		page, err := list(ctx, after, size)
		if err != nil {
			return nil, "", err
		}
		for _, entry := range page {
			name, there := look(entry)
			after = name
			if !there || !caller.permits(ActionRead, string(name)) {
				continue
			}
			found = append(found, entry)
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

func checkPage(limit int) error {
	if limit < 1 || limit > maxPage {
		return Errorf(CodeInvalidCount, "limit must be 1 to %d", maxPage)
	}
	return nil
}
