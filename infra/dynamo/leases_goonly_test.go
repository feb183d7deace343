//go:build goonly

package dynamo_test

import (
	"testing"

	"idpool/infra/dynamo"
)

func engineTables() map[string]func(testing.TB) dynamo.Table { return nil }
