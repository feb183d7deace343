// Command authorizer says to the gateway whose credential a request has. The gateway keeps the answer for a minute, so a
// revocation holds within that time.
package main

import (
	"context"

	"idpool/functions/internal/base"
)

// envTokenHash has the hash of the bootstrap token, by which the first credentials are made; empty for none.
const envTokenHash = "IDPOOL_TOKEN_HASH"

func main() { base.Main("authorizer", newHandler) }

func newHandler(ctx context.Context, lookup func(string) (string, bool)) (handler, error) {
	f, err := base.Start(ctx, lookup, nil)
	if err != nil {
		return nil, err
	}
	verify, err := f.Verifier(lookup, envTokenHash)
	if err != nil {
		return nil, err
	}
	return (&authorizer{verify: verify, logger: f.Logger}).answer, nil
}
