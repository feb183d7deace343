// Command admin is the function of administration: everything under /v1 that allocate does not serve, behind the
// authorizer, and the dashboard, which looks at credentials itself.
package main

import (
	"context"

	"idpool/functions/internal/base"
	"idpool/infra/lambdahttp"
	"idpool/web"
	"idpool/web/admin"
	"idpool/web/api"
)

// envTokenHash has the hash of the bootstrap token, with which a person may see the pages too; empty for none.
const envTokenHash = "IDPOOL_TOKEN_HASH"

func main() { base.Main("admin", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (lambdahttp.Handler, error) {
	f, err := base.Start(ctx, lookup, &base.Jobs{Encoders: api.Encoders(), Log: api.LogCodec()})
	if err != nil {
		return nil, err
	}
	pages, err := admin.New(admin.Config{Service: f.Service, Environment: f.Settings.Table + " · " + f.Settings.Region, File: api.PartFile})
	if err != nil {
		return nil, err
	}
	verify, err := f.Verifier(lookup, envTokenHash)
	if err != nil {
		return nil, err
	}
	return f.HTTP(web.Split(web.Authorized(api.Admin(f.Service)), web.BasicOrBearer(verify)(pages)))
}
