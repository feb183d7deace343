//go:build !goonly

package main

import (
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// doorData are the stores behind the doors.
func doorData() map[string]func(testing.TB) data {
	return map[string]func(testing.TB) data{"sqlite": sqliteData, "dynamodb": func(t testing.TB) data {
		table, _, _ := dynamotest.NewTable(t)
		return dynamoData(table)
	}}
}

func dynamoData(table dynamo.Table) data {
	return func(t testing.TB, now func() time.Time) alloc.Store {
		s, err := dynamo.New(dynamo.Config{Table: table, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}
