package web

import (
	"net/http"
	"strings"

	"idpool/alloc"
)

// keyHeader is the header of the IETF draft "The Idempotency-Key HTTP Header Field", 07.
const keyHeader = "Idempotency-Key"

// IdempotencyKey returns the request's idempotency key, "" without one. The header is a structured-field string,
// "abc" in quotes with \" and \\ inside; the bare form abc means the same key. A bare key must have no quote and no
// comma: proxies join two headers with a comma, and two keys are not one. CodeInvalidKey for anything else.
func IdempotencyKey(r *http.Request) (string, error) {
	values := r.Header.Values(keyHeader)
	switch len(values) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", badKey("send the header once, with one key")
	}
	key := strings.Trim(values[0], " \t")
	if strings.HasPrefix(key, `"`) {
		return quotedKey(key)
	}
	if strings.ContainsAny(key, `",`) {
		return "", badKey(`a key with a quote or a comma must be quoted, "like, this"`)
	}
	return key, alloc.CheckKey(key)
}

// quotedKey reads a structured-field string that must be all there is.
func quotedKey(s string) (string, error) {
	var key strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case '"':
			if i != len(s)-1 {
				return "", badKey("there is text after the closing quote; send one key")
			}
			return key.String(), alloc.CheckKey(key.String())
		case '\\':
			i++
			if i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", badKey(`a backslash in a quoted key must be followed by " or \`)
			}
			key.WriteByte(s[i])
		default:
			key.WriteByte(c)
		}
	}
	return "", badKey("the closing quote is missing")
}

func badKey(why string) error {
	return alloc.Errorf(alloc.CodeInvalidKey, "the Idempotency-Key header is not valid: %s; it has 1 to %d printable ASCII characters, quoted or bare",
		why, alloc.MaxKeyBytes)
}
