package api

import (
	"net/http"

	"idpool/alloc"
)

// Function names the deployed function that serves a route.
type Function string

// The functions. They are split by what they may do to the table, not by address.
const (
	FunctionAllocate Function = "allocate"
	FunctionAdmin    Function = "admin"
)

// Route is one row of the table of routes.
type Route struct {
	Method   string
	Path     string // a pattern of http.ServeMux, without method
	Function Function

	open  bool     // for everybody, without a credential
	query []string // the query parameters that it knows; others are refused
	run   endpoint
}

// Routes is the table of all routes. The service may be nil for a caller that only wants to know them.
func Routes(svc *alloc.Service) []Route {
	a := api{svc}
	page := []string{"cursor", "limit"}
	return []Route{
		{Method: http.MethodGet, Path: "/healthz", Function: FunctionAllocate, run: a.healthy, open: true},
		{Method: http.MethodPost, Path: "/v1/pools/{pool}/claims", Function: FunctionAllocate, run: withBody(a.claim)},
		{Method: http.MethodGet, Path: "/v1/pools/{pool}/ids", Function: FunctionAllocate, run: a.inspect, query: []string{"id"}},
		{Method: http.MethodPost, Path: "/v1/sequences/{sequence}/leases", Function: FunctionAllocate, run: withBody(a.lease)},
		{Method: http.MethodPost, Path: "/v1/sequences/{sequence}/next", Function: FunctionAllocate, run: withBody(a.next)},

		{Method: http.MethodGet, Path: "/readyz", Function: FunctionAdmin, run: a.ready, open: true},
		{Method: http.MethodGet, Path: "/v1/pools", Function: FunctionAdmin, run: a.pools, query: page},
		{Method: http.MethodPut, Path: "/v1/pools/{pool}", Function: FunctionAdmin, run: withBody(a.putPool)},
		{Method: http.MethodGet, Path: "/v1/pools/{pool}", Function: FunctionAdmin, run: a.pool},
		{Method: http.MethodDelete, Path: "/v1/pools/{pool}", Function: FunctionAdmin, run: withoutBody(a.setPool(alloc.PoolDeleted))},
		{Method: http.MethodPost, Path: "/v1/pools/{pool}/pause", Function: FunctionAdmin, run: withoutBody(a.setPool(alloc.PoolPaused))},
		{Method: http.MethodPost, Path: "/v1/pools/{pool}/resume", Function: FunctionAdmin, run: withoutBody(a.setPool(alloc.PoolActive))},
		{Method: http.MethodPost, Path: "/v1/pools/{pool}/drain", Function: FunctionAdmin, run: withoutBody(a.setPool(alloc.PoolDraining))},
		{Method: http.MethodPost, Path: "/v1/pools/{pool}/seed", Function: FunctionAdmin, run: a.seed, query: []string{"column", "header"}},
		{Method: http.MethodPost, Path: "/v1/pools/{pool}/sweep", Function: FunctionAdmin, run: withoutBody(a.sweep)},
		{Method: http.MethodPost, Path: "/v1/tend", Function: FunctionAdmin, run: withoutBody(a.tend)},

		{Method: http.MethodGet, Path: "/v1/sequences", Function: FunctionAdmin, run: a.sequences, query: page},
		{Method: http.MethodPut, Path: "/v1/sequences/{sequence}", Function: FunctionAdmin, run: withBody(a.putSequence)},
		{Method: http.MethodGet, Path: "/v1/sequences/{sequence}", Function: FunctionAdmin, run: a.sequence},
		{Method: http.MethodDelete, Path: "/v1/sequences/{sequence}", Function: FunctionAdmin, run: withoutBody(a.setSequence(alloc.SequenceDeleted))},
		{Method: http.MethodPost, Path: "/v1/sequences/{sequence}/pause", Function: FunctionAdmin, run: withoutBody(a.setSequence(alloc.SequencePaused))},
		{Method: http.MethodPost, Path: "/v1/sequences/{sequence}/resume", Function: FunctionAdmin, run: withoutBody(a.setSequence(alloc.SequenceActive))},
		{Method: http.MethodGet, Path: "/v1/sequences/{sequence}/leases", Function: FunctionAdmin, run: a.leases, query: page},

		{Method: http.MethodGet, Path: "/v1/audit", Function: FunctionAdmin, run: a.trail, query: page},
	}
}

// api has the endpoints.
type api struct{ svc *alloc.Service }

// All serves every route, for a program that is the whole system.
func All(svc *alloc.Service) http.Handler {
	return handlerOf(Routes(svc), func(Function) bool { return true })
}

// Allocate serves the routes of the function allocate.
func Allocate(svc *alloc.Service) http.Handler {
	return handlerOf(Routes(svc), func(f Function) bool { return f == FunctionAllocate })
}

// Admin serves the routes of the function admin.
func Admin(svc *alloc.Service) http.Handler {
	return handlerOf(Routes(svc), func(f Function) bool { return f == FunctionAdmin })
}
