package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
)

// contractJSON is openapi.yaml as JSON; `make generate` makes it.
//
//go:embed openapi.json
var contractJSON []byte

// contract answers with the contract of the API.
func (a api) contract(context.Context, request) (answer, error) {
	return answer{status: http.StatusOK, body: json.RawMessage(contractJSON)}, nil
}
