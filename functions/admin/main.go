// Command admin is the function of administration: everything under /v1 that allocate does not serve, behind the
// authorizer, and the dashboard, which has a sign-in of its own.
package main

import (
	"context"
	"errors"

	"idpool/functions/internal/base"
	"idpool/infra/lambdahttp"
	"idpool/templates"
	"idpool/web"
	"idpool/web/admin"
	"idpool/web/api"
)

func main() { base.Main("admin", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (lambdahttp.Handler, error) {
	f, err := base.Start(ctx, lookup, &base.Jobs{Encoders: api.Encoders(), Log: api.LogCodec()})
	dashboard, perr := readPages(lookup)
	if err := errors.Join(err, perr); err != nil {
		return nil, err
	}
	pages, err := admin.New(admin.Config{
		Service: f.Service, Environment: f.Settings.Table + " · " + f.Settings.Region, File: api.PartFile,
		Facts:    []templates.Fact{{Term: "Region", Value: f.Settings.Region}, {Term: "Table", Value: f.Settings.Table}},
		ReadOnly: dashboard.readOnly, SignIn: &dashboard.signIn,
	})
	if err != nil {
		return nil, err
	}
	return f.HTTP(web.Split(web.Authorized(api.Admin(f.Service)), pages))
}
