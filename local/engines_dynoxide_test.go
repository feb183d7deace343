//go:build !goonly

package main

import (
	"path/filepath"
	"testing"

	"idpool/infra/dynamo/dynamotest"
)

// engines are the stores that a test runs on.
func engines() map[string]func(testing.TB) engine {
	return map[string]func(testing.TB) engine{"sqlite": newSQLite, "dynamodb": newDynoxide}
}

// dynoxide keeps its data in a file, and can be killed like the program itself.
type dynoxide struct {
	dir    string
	server *dynamotest.Server
}

func newDynoxide(t testing.TB) engine {
	d := &dynoxide{dir: t.TempDir()}
	d.server = dynamotest.StartServer(t, d.file())
	return d
}

func (d *dynoxide) file() string { return filepath.Join(d.dir, "dynamodb.db") }

func (d *dynoxide) flags() []string {
	return []string{"-data", d.dir, "-dynamodb-endpoint", d.server.URL}
}

func (d *dynoxide) crash(t testing.TB) {
	d.server.Kill()
	d.server = dynamotest.StartServer(t, d.file())
}
