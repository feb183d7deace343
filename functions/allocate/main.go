// Command allocate is the function that hands out IDs and numbers: claims, leases and what belongs to them. Who calls is what the
// authorizer before it has found.
package main

import (
	"context"

	"idpool/functions/internal/base"
	"idpool/infra/lambdahttp"
	"idpool/web"
	"idpool/web/api"
)

func main() { base.Main("allocate", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (lambdahttp.Handler, error) {
	f, err := base.Start(ctx, lookup, nil)
	if err != nil {
		return nil, err
	}
	return f.HTTP(web.Authorized(api.Allocate(f.Service)))
}
