package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"idpool/alloc"
)

// SDKTable is Table over the SDK's client. It has nothing in memory and is safe for concurrent use.
type SDKTable struct {
	client *dynamodb.Client
	name   *string
}

var _ Table = (*SDKTable)(nil)

// NewSDKTable returns the table of that name. The client should be one of NewClient's: only then can a failed write be
// told to be surely not applied.
func NewSDKTable(client *dynamodb.Client, name string) *SDKTable {
	return &SDKTable{client: client, name: aws.String(name)}
}

// Get implements Table.
func (t *SDKTable) Get(ctx context.Context, k Key) (Item, error) {
	watched, seen := watch(ctx)
	out, err := t.client.GetItem(watched, &dynamodb.GetItemInput{TableName: t.name, Key: encodeKey(k), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil, failure(ctx, err, seen, false)
	}
	return decoded(out.Item)
}

// maxBatchGet is DynamoDB's limit.
const maxBatchGet = 100

// GetMany implements Table.
func (t *SDKTable) GetMany(ctx context.Context, keys []Key) ([]Item, error) {
	if len(keys) > maxBatchGet {
		return nil, internal(errors.New("GetMany of more than 100 keys"))
	}
	var ask []map[string]types.AttributeValue
	found := make(map[Key]Item, len(keys))
	for _, k := range keys {
		if _, twice := found[k]; twice {
			continue // DynamoDB refuses a key that stands twice in a request
		}
		found[k] = nil
		ask = append(ask, encodeKey(k))
	}
	for attempt := 1; len(ask) > 0; attempt++ {
		rest, err := t.getSome(ctx, ask, found)
		if err != nil {
			return nil, err
		}
		if len(rest) == len(ask) && attempt >= maxAttempts {
			return nil, throttled(errors.New("a batch was left unprocessed"))
		}
		if ask = rest; len(ask) > 0 {
			if err := pause(ctx, attempt); err != nil {
				return nil, err
			}
		}
	}
	items := make([]Item, len(keys))
	for i, k := range keys {
		items[i] = found[k]
	}
	return items, nil
}

// getSome makes one request, puts what it brought into found and returns the keys that the server left out for load.
func (t *SDKTable) getSome(ctx context.Context, ask []map[string]types.AttributeValue, found map[Key]Item) ([]map[string]types.AttributeValue, error) {
	watched, seen := watch(ctx)
	out, err := t.client.BatchGetItem(watched, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		*t.name: {Keys: ask, ConsistentRead: aws.Bool(true)},
	}})
	if err != nil {
		return nil, failure(ctx, err, seen, false)
	}
	for _, attrs := range out.Responses[*t.name] {
		it, err := decoded(attrs)
		if err != nil {
			return nil, err
		}
		found[it.Key()] = it
	}
	return out.UnprocessedKeys[*t.name].Keys, nil
}

// Put implements Table.
func (t *SDKTable) Put(ctx context.Context, it Item, c Cond) error {
	attrs, err := encodeItem(it)
	if err != nil {
		return internal(err)
	}
	e := newExpression()
	in := &dynamodb.PutItemInput{
		TableName: t.name, Item: attrs, ConditionExpression: optional(e.cond(c)),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if e.err != nil {
		return internal(e.err)
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.attrs()
	watched, seen := watch(ctx)
	if _, err := t.client.PutItem(watched, in); err != nil {
		return t.writeFailure(ctx, it.Key(), err, seen)
	}
	return nil
}

// Update implements Table.
func (t *SDKTable) Update(ctx context.Context, k Key, u Update, c Cond) (Item, error) {
	e := newExpression()
	in := &dynamodb.UpdateItemInput{
		TableName: t.name, Key: encodeKey(k), UpdateExpression: optional(e.update(u)), ConditionExpression: optional(e.cond(c)),
		ReturnValues: returned(u), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if e.err != nil {
		return nil, internal(e.err)
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.attrs()
	watched, seen := watch(ctx)
	out, err := t.client.UpdateItem(watched, in)
	if err != nil {
		return nil, t.writeFailure(ctx, k, err, seen)
	}
	if u.Quiet {
		return nil, nil
	}
	return decodedWrite(out.Attributes)
}

func returned(u Update) types.ReturnValue {
	if u.Quiet {
		return types.ReturnValueNone
	}
	return types.ReturnValueAllNew
}

// Delete implements Table.
func (t *SDKTable) Delete(ctx context.Context, k Key, c Cond) (Item, error) {
	e := newExpression()
	in := &dynamodb.DeleteItemInput{
		TableName: t.name, Key: encodeKey(k), ConditionExpression: optional(e.cond(c)),
		ReturnValues: types.ReturnValueAllOld, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if e.err != nil {
		return nil, internal(e.err)
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.attrs()
	watched, seen := watch(ctx)
	out, err := t.client.DeleteItem(watched, in)
	if err != nil {
		return nil, t.writeFailure(ctx, k, err, seen)
	}
	return decodedWrite(out.Attributes)
}

// Query implements Table.
func (t *SDKTable) Query(ctx context.Context, q Query) (Page, error) {
	e := newExpression()
	in := &dynamodb.QueryInput{
		TableName: t.name, KeyConditionExpression: aws.String(e.query(q)),
		ScanIndexForward: aws.Bool(!q.Descending), ConsistentRead: aws.Bool(true),
	}
	if q.Limit > 0 {
		in.Limit = aws.Int32(int32(min(q.Limit, 1<<20)))
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.attrs()
	watched, seen := watch(ctx)
	out, err := t.client.Query(watched, in)
	if err != nil {
		return Page{}, failure(ctx, err, seen, false)
	}
	page := Page{Items: make([]Item, 0, len(out.Items)), More: len(out.LastEvaluatedKey) > 0}
	for _, attrs := range out.Items {
		it, err := decoded(attrs)
		if err != nil {
			return Page{}, err
		}
		page.Items = append(page.Items, it)
	}
	return page, nil
}

// Scan implements Table.
func (t *SDKTable) Scan(ctx context.Context, sc Scan) ([]Item, Key, error) {
	e := newExpression()
	in := &dynamodb.ScanInput{
		TableName: t.name, FilterExpression: optional(e.prefixes(AttrPK, sc.Prefixes)), ConsistentRead: aws.Bool(true),
		Segment: aws.Int32(int32(sc.Segment)), TotalSegments: aws.Int32(int32(max(sc.Total, 1))), //nolint:gosec // far below
	}
	if sc.From != (Key{}) {
		in.ExclusiveStartKey = encodeKey(sc.From)
	}
	if sc.Limit > 0 {
		in.Limit = aws.Int32(int32(min(sc.Limit, 1<<20)))
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.attrs()
	watched, seen := watch(ctx)
	out, err := t.client.Scan(watched, in)
	if err != nil {
		return nil, Key{}, failure(ctx, err, seen, false)
	}
	items := make([]Item, 0, len(out.Items))
	for _, attrs := range out.Items {
		it, err := decodeItem(attrs)
		if err != nil {
			it, err = decodeItem(map[string]types.AttributeValue{AttrPK: attrs[AttrPK], AttrSK: attrs[AttrSK]})
		}
		if err != nil {
			return nil, Key{}, internal(err)
		}
		items = append(items, it)
	}
	next, err := decoded(out.LastEvaluatedKey)
	return items, next.Key(), err
}

// writeFailure turns the error of a conditional write into ours.
func (t *SDKTable) writeFailure(ctx context.Context, k Key, err error, seen *attempts) error {
	e, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	if !ok {
		return failure(ctx, err, seen, true)
	}
	if len(e.Item) == 0 {
		// Nothing was there, or the server does not say what: some emulators never do. A failed condition tells the
		// caller who owns an ID, so it is worth a read.
		old, err := t.Get(ctx, k)
		if err != nil {
			return stillUnknown(err, seen)
		}
		return &ConditionFailed{Old: old}
	}
	old, derr := decodeItem(e.Item)
	if derr != nil {
		return internal(derr)
	}
	return &ConditionFailed{Old: old}
}

// stillUnknown marks an error of the read that would have told what became of a write.
func stillUnknown(err error, seen *attempts) error {
	e, ok := errors.AsType[*alloc.Error](err)
	if !ok {
		return err
	}
	c := *e
	c.Unknown = seen.open || !seen.watched
	return &c
}

func decoded(attrs map[string]types.AttributeValue) (Item, error) {
	it, err := decodeItem(attrs)
	if err != nil {
		return nil, internal(err)
	}
	return it, nil
}

// decodedWrite is decoded for the answer of a write that was applied.
func decodedWrite(attrs map[string]types.AttributeValue) (Item, error) {
	it, err := decodeItem(attrs)
	if err != nil {
		e := internal(err)
		e.Unknown = true
		return nil, e
	}
	return it, nil
}
