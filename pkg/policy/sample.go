package policy

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Sample is a request as people write it down and logs record it: what rules
// may read, and nothing else.
type Sample struct {
	Time        time.Time         `json:"time,omitzero"`
	Method      string            `json:"method,omitempty"`
	Host        string            `json:"host,omitempty"`
	Path        string            `json:"path,omitempty"`
	Query       string            `json:"query,omitempty"` // raw, without '?'
	Peer        netip.Addr        `json:"peer,omitzero"`
	TraceID     string            `json:"traceID,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	QueryParams map[string]string `json:"queryParams,omitempty"` // decoded; beside those of Query
	Cookies     map[string]string `json:"cookies,omitempty"`     // beside those of the Cookie header
	Claims      map[string]any    `json:"jwtClaims,omitempty"`   // in place of a bearer token
	Tag         string            `json:"tag,omitempty"`         // decided by an earlier hop and believed; "": the rules are asked
}

// Request returns s in the form that a policy decides.
func (s *Sample) Request() *Request {
	return &Request{
		Method:  []byte(s.Method),
		Host:    []byte(s.Host),
		Path:    []byte(s.Path),
		Query:   []byte(s.query()),
		Peer:    s.Peer,
		TraceID: []byte(s.TraceID),
		Headers: s.headers(),
		Now:     s.Time,
	}
}

// String shows s on one line, as ParseSample reads it, with what that does not
// read behind it.
func (s *Sample) String() string {
	var b strings.Builder
	b.WriteString(s.Method + " http://" + s.Host + s.Path)
	if query := s.query(); query != "" {
		b.WriteString("?" + query)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		b.WriteString(" " + name + ": " + s.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Cookies)) {
		b.WriteString(" Cookie: " + name + "=" + s.Cookies[name])
	}
	if more := s.beside(); len(more) > 0 {
		b.WriteString(" (" + strings.Join(more, ", ") + ")")
	}
	return b.String()
}

// beside returns what a request has beside its head.
func (s *Sample) beside() (parts []string) {
	if s.Claims != nil {
		claims, _ := json.Marshal(s.Claims) // what came of JSON has no error
		parts = append(parts, "claims "+string(claims))
	}
	if s.Peer.IsValid() {
		parts = append(parts, "from "+s.Peer.String())
	}
	if !s.Time.IsZero() {
		parts = append(parts, "at "+s.Time.Format(time.RFC3339))
	}
	if s.Tag != "" {
		parts = append(parts, "with tag "+s.Tag)
	}
	return parts
}

// sampleHeaders is the header of a Sample: names in lower case.
type sampleHeaders map[string][]byte

// Get returns the value of a header.
func (h sampleHeaders) Get(name string) []byte { return h[strings.ToLower(name)] }

// Values appends the value of a header to dst.
func (h sampleHeaders) Values(dst [][]byte, name string) [][]byte {
	if value, ok := h[strings.ToLower(name)]; ok {
		return append(dst, value)
	}
	return dst
}

func (s *Sample) headers() sampleHeaders {
	h := make(sampleHeaders, len(s.Headers)+2)
	for name, value := range s.Headers {
		h[strings.ToLower(name)] = []byte(value)
	}
	for name, value := range s.Cookies {
		h["cookie"] = append(h["cookie"], "; "+name+"="+value...)
	}
	if s.Claims != nil {
		// What comes of JSON and is put back into it has no error.
		payload, _ := json.Marshal(s.Claims)
		h["authorization"] = []byte("Bearer ." + base64.RawURLEncoding.EncodeToString(payload) + ".")
	}
	return h
}

func (s *Sample) query() string {
	parts := make([]string, 0, len(s.QueryParams)+1)
	if s.Query != "" {
		parts = append(parts, s.Query)
	}
	for name, value := range s.QueryParams {
		parts = append(parts, escapeParam(name)+"="+escapeParam(value))
	}
	slices.Sort(parts[min(1, len(parts)):])
	return strings.Join(parts, "&")
}

// escapeParam escapes all but letters and digits.
func escapeParam(s string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
