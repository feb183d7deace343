package templates

// What an empty page proposes to do next.
const (
	poolCommands = `curl -X PUT "$IDPOOL/v1/pools/vouchers" \
  -H "Authorization: Bearer $TOKEN"
curl "$IDPOOL/v1/pools/vouchers/seed" \
  -H "Authorization: Bearer $TOKEN" \
  -H "Content-Type: text/csv" --data-binary @codes.csv
curl -X POST "$IDPOOL/v1/pools/vouchers/claims" \
  -H "Authorization: Bearer $TOKEN"`

	sequenceCommands = `curl -X PUT "$IDPOOL/v1/sequences/invoices" \
  -H "Authorization: Bearer $TOKEN"
curl "$IDPOOL/v1/sequences/invoices/leases"` + leaseBody

	leaseBody = ` \
  -H "Authorization: Bearer $TOKEN" \
  -H "Content-Type: application/json" -d '{"count": 1000}'`
)

// leaseCommand leases from a sequence.
func leaseCommand(name string) string {
	return `curl "$IDPOOL/v1/sequences/` + name + `/leases"` + leaseBody
}
