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

// Keys says what an Idempotency-Key does on a route.
type Keys string

// What a key does. Requests that change nothing are the same however often they come: a key that comes with one is not
// looked at, as there are clients that send one with everything.
const (
	KeysIgnored  Keys = ""         // nothing: the route changes nothing
	KeysOwn      Keys = "own"      // the operation has records of its own for it
	KeysAnswered Keys = "answered" // the first answer is kept and given again: see keyed.go
)

// Everything stands in Route.On for an operation that needs its action on all names.
const Everything = "*"

// Route is one row of the table of routes.
type Route struct {
	Method    string
	Path      string // a pattern of http.ServeMux, without method
	Operation string // its name in the contract, the log and the metrics; unique
	Function  Function

	// What a caller must be permitted: Need on the name in the path value On, or on Everything. Without Need every caller
	// is let in, and sees what it may read. The service checks it; here it is for whoever wants to know, and for keys.
	Need alloc.Action
	On   string
	Open bool // for everybody, without a credential

	NeedOf map[alloc.JobKind]alloc.Action // on a job, in place of Need: what its kind needs

	Query       []string // the query parameters that it knows; others are refused
	Keys        Keys
	Conditional bool // it takes If-Match; one that changes something and does not, refuses it
	List        bool // it goes on page by page, and can be had as CSV
	CSV         bool // what is no list, and can be had as CSV

	read reader
}

// changes reports whether the route may change something.
func (rt Route) changes() bool { return rt.Keys != KeysIgnored }

// api has the endpoints.
type api struct{ svc *alloc.Service }

// All serves every route, for a program that is the whole system.
func All(svc *alloc.Service) http.Handler {
	return handlerOf(svc, func(Function) bool { return true })
}

// Allocate serves the routes of the function allocate.
func Allocate(svc *alloc.Service) http.Handler {
	return handlerOf(svc, func(f Function) bool { return f == FunctionAllocate })
}

// Admin serves the routes of the function admin.
func Admin(svc *alloc.Service) http.Handler {
	return handlerOf(svc, func(f Function) bool { return f == FunctionAdmin })
}
