//go:build !goonly

package dynamotest

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Metered is what a server was asked and what it says that this costs.
type Metered struct {
	RoundTrips int     // requests sent, repeats included
	WriteUnits float64 // of writes that were applied
	ReadUnits  float64
	Refused    int // operations that failed, such as on a condition; DynamoDB charges such a write and does not say so
}

// Meter is middleware of a client that counts. Install goes into dynamo.ClientConfig.APIOptions.
type Meter struct {
	mu   sync.Mutex
	used Metered
}

// Install adds the meter to an operation.
func (m *Meter) Install(stack *middleware.Stack) error {
	if err := stack.Initialize.Add(middleware.InitializeMiddlewareFunc("idpool:meter", m.operation), middleware.After); err != nil {
		return err
	}
	return stack.Finalize.Add(middleware.FinalizeMiddlewareFunc("idpool:round-trips", m.attempt), middleware.After)
}

// Take returns what was used since the last Take.
func (m *Meter) Take() Metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := m.used
	m.used = Metered{}
	return used
}

func (m *Meter) attempt(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
	m.mu.Lock()
	m.used.RoundTrips++
	m.mu.Unlock()
	return next.HandleFinalize(ctx, in)
}

func (m *Meter) operation(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	askCapacity(in.Parameters)
	out, md, err := next.HandleInitialize(ctx, in)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.used.Refused++
		return out, md, err
	}
	switch out := out.Result.(type) {
	case *dynamodb.GetItemOutput:
		m.used.ReadUnits += units64(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		m.used.ReadUnits += units64(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		for i := range out.ConsumedCapacity {
			m.used.ReadUnits += units64(&out.ConsumedCapacity[i])
		}
	case *dynamodb.PutItemOutput:
		m.used.WriteUnits += units64(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		m.used.WriteUnits += units64(out.ConsumedCapacity)
	case *dynamodb.DeleteItemOutput:
		m.used.WriteUnits += units64(out.ConsumedCapacity)
	}
	return out, md, err
}

func askCapacity(params any) {
	const total = types.ReturnConsumedCapacityTotal
	switch in := params.(type) {
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.BatchGetItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = total
	case *dynamodb.DeleteItemInput:
		in.ReturnConsumedCapacity = total
	}
}

func units64(c *types.ConsumedCapacity) float64 {
	if c == nil {
		return 0
	}
	return aws.ToFloat64(c.CapacityUnits)
}
