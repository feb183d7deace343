package lambdahttp

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// incoming is what of a request the adapter gets wrong, as net/http would give it.
type incoming struct {
	url    url.URL
	host   string
	remote string
	header http.Header
}

// read takes an event apart. Its error is what the client is told.
func read(e events.APIGatewayV2HTTPRequest, base string) (*incoming, error) {
	if e.Version != "2.0" {
		return nil, errors.New("this function takes events of the payload format 2.0 only; set it at the API's integration")
	}
	if !isToken(e.RequestContext.HTTP.Method) {
		return nil, errors.New("the request has no valid method")
	}
	if !decodable(e) {
		return nil, errors.New("the body is marked as base64 and is not; send it again")
	}
	in := &incoming{remote: hostPort(e.RequestContext.HTTP.SourceIP)}
	var err error
	if in.url, err = requestURL(e, base); err != nil {
		return nil, err
	}
	if in.header, err = requestHeader(e); err != nil {
		return nil, err
	}
	// As under net/http the Host header is a field of the request and no header.
	in.host = in.header.Get("Host")
	in.header.Del("Host")
	if in.host == "" {
		in.host = e.RequestContext.DomainName
	}
	return in, nil
}

// forAdapter returns the event without what the adapter would get wrong or fail on. It leaves it the method, the body,
// the request context and the context with its deadline.
func (in *incoming) forAdapter(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
	e.RawPath, e.RawQueryString, e.QueryStringParameters = "/", "", nil
	e.Headers, e.Cookies = nil, nil
	e.RequestContext.DomainName = ""
	return e
}

// correct puts in place what forAdapter held back.
func (in *incoming) correct(r *http.Request) {
	r.URL = &in.url
	r.RequestURI = in.url.RequestURI()
	r.Host = in.host
	r.RemoteAddr = in.remote
	if in.header.Get("Content-Length") != "" || r.ContentLength > 0 {
		in.header.Set("Content-Length", strconv.FormatInt(r.ContentLength, 10)) // of the body as decoded
	}
	r.Header = in.header
}

// requestURL makes the URL. The adapter parses path and query as one text, so that a '?' in a path begins a query and a
// stray '%' is an error of the function (A06); and it takes a base path off in the middle of a segment (A04).
//
// The gateway hands the path over as it was sent, or decoded (SAM local does; so do some integrations). An escape in it
// is kept: "%2F" is no separator, and Path and RawPath have it as after url.Parse. A bare '?' or '#' can only come from
// decoding, and belongs to the path.
func requestURL(e events.APIGatewayV2HTTPRequest, base string) (url.URL, error) {
	raw := e.RawPath
	if raw == "" {
		raw = e.RequestContext.HTTP.Path
	}
	if !strings.HasPrefix(raw, "/") {
		raw = "/" + raw
	}
	if rest, ok := strings.CutPrefix(raw, base); ok && base != "" && (rest == "" || rest[0] == '/') {
		raw = "/" + strings.TrimPrefix(rest, "/")
	}
	path, err := url.PathUnescape(raw)
	if err != nil {
		return url.URL{}, errors.New("the path has a '%' that begins no escape; write %25 for the character itself")
	}
	if strings.ContainsFunc(raw, isControl) {
		return url.URL{}, errors.New("the path has a control character")
	}
	u := url.URL{Path: path, RawQuery: requestQuery(e)}
	if escaped := strings.NewReplacer("?", "%3F", "#", "%23").Replace(raw); u.EscapedPath() != escaped {
		u.RawPath = escaped // of no effect where it is no valid form of Path, as after url.Parse
	}
	return u, nil
}

// requestQuery returns the query as sent. Without one it is made of the parameters, of which several values of a name
// stand as one with commas. Bytes that no request line can have are escaped.
func requestQuery(e events.APIGatewayV2HTTPRequest) string {
	if e.RawQueryString == "" {
		values := url.Values{}
		for name, value := range e.QueryStringParameters {
			values.Set(name, value)
		}
		return values.Encode()
	}
	var b strings.Builder
	for _, c := range []byte(e.RawQueryString) {
		if c <= ' ' || c >= 0x7f || c == '#' {
			b.WriteString("%" + strings.ToUpper(strconv.FormatUint(0x100|uint64(c), 16)[1:]))
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// requestHeader makes the header. The adapter splits most values at their commas, so that a quoted Idempotency-Key or a
// date arrives in pieces (A01): here each is one value, as the gateway joined it. Several cookies are one Cookie header,
// because Header.Get sees only the first (A11).
func requestHeader(e events.APIGatewayV2HTTPRequest) (http.Header, error) {
	h := http.Header{}
	names := make([]string, 0, len(e.Headers))
	for name := range e.Headers {
		names = append(names, name)
	}
	slices.Sort(names) // two that differ only in case come in a fixed order
	for _, name := range names {
		value := strings.Trim(e.Headers[name], " \t")
		if !isToken(name) || strings.ContainsFunc(value, isBadInValue) {
			return nil, errors.New("a header has a name or a value that HTTP does not allow")
		}
		if !isForged(name) {
			h.Add(name, value)
		}
	}
	h.Del("Transfer-Encoding") // the body is here, whole
	if len(e.Cookies) > 0 {
		cookies := strings.Join(e.Cookies, "; ")
		if strings.ContainsFunc(cookies, isBadInValue) {
			return nil, errors.New("a cookie has a character that HTTP does not allow")
		}
		h.Set("Cookie", cookies)
	}
	return h, nil
}

// isForged reports whether a header is one by which some adapter tells a handler who called. Here that comes by the
// context alone, so such a header is always the client's own (A03).
func isForged(name string) bool {
	switch name = textproto.CanonicalMIMEHeaderKey(name); name {
	case "X-Amzn-Request-Context", "X-Amzn-Lambda-Context", "X-Apigateway-Event", "X-Apigateway-Context":
		return true
	}
	return strings.HasPrefix(name, "X-Golambdaproxy-")
}

// hostPort gives a remote address the form that it has under net/http; the gateway has no port to tell, the adapter
// gives the bare address, and net.SplitHostPort fails on that (A10).
func hostPort(source string) string {
	if at, err := netip.ParseAddrPort(source); err == nil {
		return at.String()
	}
	addr, err := netip.ParseAddr(source)
	if err != nil {
		addr = netip.IPv6Unspecified()
	}
	return net.JoinHostPort(addr.String(), "0")
}

// isToken is the rule of HTTP for methods and header names.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isControl(r rune) bool    { return r < ' ' || r == 0x7f }
func isBadInValue(r rune) bool { return isControl(r) && r != '\t' }
