// Command admin is the function of administration: everything under /v1 that allocate does not serve, and the dashboard.
package main

import (
	"context"

	"idpool/functions/internal/base"
	"idpool/infra/lambdahttp"
	"idpool/web"
	"idpool/web/admin"
	"idpool/web/api"
)

func main() { base.Main("admin", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (lambdahttp.Handler, error) {
	f, err := base.Start(ctx, lookup)
	if err != nil {
		return nil, err
	}
	pages, err := admin.New(admin.Config{Service: f.Service, Environment: f.Settings.Table + " · " + f.Settings.Region})
	if err != nil {
		return nil, err
	}
	verify := f.Settings.Verify
	return f.HTTP(web.Split(web.Bearer(verify)(api.Admin(f.Service)), web.BasicOrBearer(verify)(pages)))
}
