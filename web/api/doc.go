// Package api is the JSON API of idpool. All routes stand in one table ([Routes]); each is served by one adapter that
// decodes strictly, calls alloc.Service, and encodes the answer or the problem. IDs, numbers and positions are strings.
//
// A handler of this package finds its caller in the context, where web.Bearer or the Lambda adapter put it, and belongs
// inside web.Stack. Bad input is never a 500, and never carried out in part.
package api
