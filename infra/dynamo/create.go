package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// createWait bounds how long CreateTable waits for the table.
const createWait = 2 * time.Minute

// CreateTable makes the table if it is missing and returns when it can be used: string keys pk and sk, on demand, items
// expiring on "exp", protected against deletion, with point-in-time recovery. The last two are left out where the
// server does not have them. A table that is there is only checked: its keys must be those, its expiry is switched on
// if it is not, everything else is its owner's business.
func CreateTable(ctx context.Context, client *dynamodb.Client, name string) error {
	ctx, cancel := context.WithTimeout(ctx, createWait)
	defer cancel()
	made, err := createTable(ctx, client, name)
	if err != nil {
		return fmt.Errorf("dynamo: create table %s: %w", name, err)
	}
	if err := awaitTable(ctx, client, name); err != nil {
		return fmt.Errorf("dynamo: table %s: %w", name, err)
	}
	if err := expireItems(ctx, client, name); err != nil {
		return fmt.Errorf("dynamo: switch on the expiry of items of table %s: %w", name, err)
	}
	if made {
		if err := recoverable(ctx, client, name); err != nil {
			return fmt.Errorf("dynamo: switch on point-in-time recovery of table %s: %w", name, err)
		}
	}
	return nil
}

// createTable reports whether this call made the table; false if it was there, or somebody else made it just now.
func createTable(ctx context.Context, client *dynamodb.Client, name string) (made bool, err error) {
	_, err = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
	if err == nil {
		return false, nil
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return false, err
	}
	_, err = client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
		},
		DeletionProtectionEnabled: aws.Bool(true),
	})
	if _, busy := errors.AsType[*types.ResourceInUseException](err); busy {
		return false, nil
	}
	return err == nil, err
}

// awaitTable waits until the table is active, and checks its keys.
func awaitTable(ctx context.Context, client *dynamodb.Client, name string) error {
	for attempt := 1; ; attempt++ {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(name)})
		if _, missing := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !missing {
			return err
		}
		if err == nil {
			switch out.Table.TableStatus {
			case types.TableStatusActive, types.TableStatusUpdating:
				return checkKeys(out.Table)
			}
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

func checkKeys(t *types.TableDescription) error {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range t.AttributeDefinitions {
		kinds[aws.ToString(a.AttributeName)] = a.AttributeType
	}
	want := []types.KeySchemaElement{
		{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
	}
	ok := len(t.KeySchema) == len(want)
	for i := 0; ok && i < len(want); i++ {
		name := aws.ToString(want[i].AttributeName)
		ok = aws.ToString(t.KeySchema[i].AttributeName) == name && t.KeySchema[i].KeyType == want[i].KeyType &&
			kinds[name] == types.ScalarAttributeTypeS
	}
	if !ok {
		return errors.New("it has other keys than the strings pk and sk; name another table")
	}
	return nil
}

func expireItems(ctx context.Context, client *dynamodb.Client, name string) error {
	out, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: aws.String(name)})
	if err != nil {
		return ifSupported(err)
	}
	if d := out.TimeToLiveDescription; d != nil {
		switch d.TimeToLiveStatus {
		case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
			if at := aws.ToString(d.AttributeName); at != "exp" && at != "" {
				return fmt.Errorf("items of it expire on %q already; name another table", at)
			}
			return nil
		}
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("exp"), Enabled: aws.Bool(true)},
	})
	return ifSupported(err)
}

func recoverable(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
		TableName:                        aws.String(name),
		PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: aws.Bool(true)},
	})
	return ifSupported(err)
}

// ifSupported drops the error of a server that does not know the operation. Losing a race to switch something on, which
// DynamoDB calls invalid, is no fault either: it is on then.
func ifSupported(err error) error {
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}
	switch e.ErrorCode() {
	case "UnknownOperationException", "ValidationException", "ContinuousBackupsUnavailableException":
		return nil
	}
	return err
}
