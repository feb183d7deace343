// Package apitest is a client of the API that oapi-codegen has generated from openapi.yaml, as a customer would. Tests
// talk to idpool through it: what can be said in the contract can be generated, and what was generated works.
package apitest
