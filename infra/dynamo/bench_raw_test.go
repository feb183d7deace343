//go:build !goonly

package dynamo_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// rawItems is the yardstick: what the SDK does without us, on items like those of IDs.
type rawItems struct {
	client *dynamodb.Client
	table  string
	put    atomic.Int64
	next   atomic.Int64
}

func (r *rawItems) key(n int64) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("I#raw#CODE-%08d", n)},
		"sk": &types.AttributeValueMemberS{Value: "I"},
	}
}

// putOne puts an item that is not there yet.
func (r *rawItems) putOne(ctx context.Context) error {
	n := r.put.Add(1)
	it := r.key(n)
	it["s"] = &types.AttributeValueMemberS{Value: "f"}
	it["g"] = &types.AttributeValueMemberN{Value: "0"}
	it["j"] = &types.AttributeValueMemberS{Value: "job"}
	_, err := r.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(r.table), Item: it,
		ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
		ExpressionAttributeNames: map[string]string{"#pk": "pk"},
	})
	return err
}

// update changes one of the items, each in its turn, on a condition like a claim's.
func (r *rawItems) update(ctx context.Context) error {
	n := r.next.Add(1)
	_, err := r.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(r.table), Key: r.key(1 + n%r.put.Load()),
		UpdateExpression:         aws.String("SET #t = :t, #a = :a, #b = :b"),
		ConditionExpression:      aws.String("#s = :s AND #g = :g"),
		ExpressionAttributeNames: map[string]string{"#t": "t", "#a": "a", "#b": "b", "#s": "s", "#g": "g"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":t": &types.AttributeValueMemberS{Value: fmt.Sprintf("%026d", n)},
			":a": &types.AttributeValueMemberN{Value: "1700000000000"},
			":b": &types.AttributeValueMemberS{Value: "bench"},
			":s": &types.AttributeValueMemberS{Value: "f"},
			":g": &types.AttributeValueMemberN{Value: "0"},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}
