package dynamo

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Attribute values are made by hand: the SDK's marshaller reflects on each, writes NULL for what is empty and gives no
// say in it.

func encodeItem(it Item) (map[string]types.AttributeValue, error) {
	out := make(map[string]types.AttributeValue, len(it))
	for name, v := range it {
		av, err := encode(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		out[name] = av
	}
	return out, nil
}

func encode(v any) (types.AttributeValue, error) {
	switch v := v.(type) {
	case string:
		return &types.AttributeValueMemberS{Value: v}, nil
	case int64:
		return &types.AttributeValueMemberN{Value: strconv.FormatInt(v, 10)}, nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case []byte:
		return &types.AttributeValueMemberB{Value: append([]byte{}, v...)}, nil // never nil, as below
	case []string:
		l := make([]types.AttributeValue, len(v)) // never nil: a nil list is no valid JSON to DynamoDB
		for i, s := range v {
			l[i] = &types.AttributeValueMemberS{Value: s}
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	case map[string]string:
		m := make(map[string]types.AttributeValue, len(v))
		for k, s := range v {
			m[k] = &types.AttributeValueMemberS{Value: s}
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	}
	return nil, fmt.Errorf("a value of type %T cannot be stored", v)
}

// decodeItem fails on what this package never writes: a number that was edited to be no int64 must not pass for zero.
func decodeItem(in map[string]types.AttributeValue) (Item, error) {
	if len(in) == 0 {
		return nil, nil
	}
	it := make(Item, len(in))
	for name, av := range in {
		v, err := decode(av)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		it[name] = v
	}
	return it, nil
}

func decode(av types.AttributeValue) (any, error) {
	switch av := av.(type) {
	case *types.AttributeValueMemberS:
		return av.Value, nil
	case *types.AttributeValueMemberN:
		return strconv.ParseInt(av.Value, 10, 64)
	case *types.AttributeValueMemberBOOL:
		return av.Value, nil
	case *types.AttributeValueMemberB:
		return av.Value, nil
	case *types.AttributeValueMemberL:
		l := make([]string, len(av.Value))
		for i, e := range av.Value {
			s, ok := e.(*types.AttributeValueMemberS)
			if !ok {
				return nil, fmt.Errorf("a list with a %T", e)
			}
			l[i] = s.Value
		}
		return l, nil
	case *types.AttributeValueMemberM:
		m := make(map[string]string, len(av.Value))
		for k, e := range av.Value {
			s, ok := e.(*types.AttributeValueMemberS)
			if !ok {
				return nil, fmt.Errorf("a map with a %T", e)
			}
			m[k] = s.Value
		}
		return m, nil
	}
	return nil, fmt.Errorf("a value of the foreign type %T", av)
}

func encodeKey(k Key) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: k.PK},
		"sk": &types.AttributeValueMemberS{Value: k.SK},
	}
}
