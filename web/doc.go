// Package web is what every HTTP handler of idpool stands in: the one table from error code to status, the problem
// document of an error, credentials, the idempotency key, and the middleware around it all ([Stack]).
//
// It promises that whatever a client sends and whatever a handler does, the client gets a proper answer with a request
// ID, an error says what to do, and each request leaves exactly one log event, without secrets.
package web
