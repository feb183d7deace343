package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"idpool/alloc"
	"idpool/web"
)

type countBody struct {
	Count alloc.Count `json:"count"`
}

func (b *countBody) fields() []field {
	b.Count = 1
	return []field{whole("count", &b.Count)}
}

func leaseRequest(ctx context.Context, q request, b countBody) alloc.LeaseRequest {
	web.Note(ctx, slog.Int64(web.KeyCount, int64(b.Count)))
	return alloc.LeaseRequest{Sequence: q.sequence(), Count: b.Count, Key: q.key, Print: canonical(b)}
}

type leaseAnswer struct {
	Sequence alloc.SequenceName `json:"sequence"`
	Start    alloc.Number       `json:"start,string"`
	End      alloc.Number       `json:"end,string"`
	Epoch    alloc.Epoch        `json:"epoch"`
	Token    alloc.Token        `json:"token"`
}

func (a api) lease(ctx context.Context, q request, b countBody) (answer, error) {
	got, err := a.svc.Lease(ctx, leaseRequest(ctx, q, b))
	if err != nil {
		return answer{}, err
	}
	return answer{
		status: http.StatusCreated, replayed: got.Replayed,
		body: leaseAnswer{Sequence: got.Sequence, Start: got.Start, End: got.End, Epoch: got.Epoch, Token: got.Token},
	}, nil
}

type nextAnswer struct {
	Sequence alloc.SequenceName `json:"sequence"`
	Numbers  []numberText       `json:"numbers"`
}

func (a api) next(ctx context.Context, q request, b countBody) (answer, error) {
	r := leaseRequest(ctx, q, b)
	numbers, replayed, err := a.svc.Next(ctx, r)
	if err != nil {
		return answer{}, err
	}
	body := nextAnswer{Sequence: r.Sequence, Numbers: make([]numberText, len(numbers))}
	for i, n := range numbers {
		body.Numbers[i] = numberText{n}
	}
	return answer{status: http.StatusCreated, replayed: replayed, body: body}, nil
}

// numberText is a number as a string, for places where a tag cannot say so.
type numberText struct {
	Number alloc.Number
}

// MarshalText makes JSON write it as a string.
func (n numberText) MarshalText() ([]byte, error) { return appendNumber(nil, n.Number), nil }

type ledgerEntry struct {
	Start  alloc.Number   `json:"start,string"`
	End    alloc.Number   `json:"end,string"`
	Epoch  alloc.Epoch    `json:"epoch"`
	Client alloc.ClientID `json:"client"`
	Leased time.Time      `json:"leased_at"`
}

type ledgerAnswer struct {
	Sequence alloc.SequenceName `json:"sequence"`
	Leases   []ledgerEntry      `json:"leases"`
	Next     alloc.Cursor       `json:"next_cursor,omitzero"` // what to give as cursor to go on
}

var ledgerColumns = []column[ledgerEntry]{
	{"start", func(e ledgerEntry) string { return decimal(e.Start) }},
	{"end", func(e ledgerEntry) string { return decimal(e.End) }},
	{"epoch", func(e ledgerEntry) string { return decimal(e.Epoch) }},
	{"client", func(e ledgerEntry) string { return string(e.Client) }},
	{"leased_at", func(e ledgerEntry) string { return when(e.Leased) }},
}

func (a api) listLeases(ctx context.Context, q request) (answer, error) {
	cursor, limit, err := q.page()
	if err != nil {
		return answer{}, err
	}
	body := ledgerAnswer{Sequence: q.sequence(), Leases: []ledgerEntry{}}
	records, next, err := a.svc.Leases(ctx, body.Sequence, cursor, limit)
	if err != nil {
		return answer{}, err
	}
	body.Next = next
	for _, r := range records {
		body.Leases = append(body.Leases, ledgerEntry{Start: r.Start, End: r.End, Epoch: r.Epoch, Client: r.By, Leased: utc(r.At)})
	}
	return q.listed(body, listOf("leases", ledgerColumns, body.Leases, next))
}
