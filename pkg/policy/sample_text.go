package policy

import (
	"fmt"
	"slices"
	"strings"
)

// ParseSample reads a request on one line: a method, a URL, and headers behind
// it, as in `GET http://users/v1 X-User-Id: 7 Cookie: gray=1`. The method may
// be left out (GET), and so may the scheme of the URL.
func ParseSample(line string) (*Sample, error) {
	words := strings.Fields(line)
	head := slices.IndexFunc(words, isHeaderStart)
	if head < 0 {
		head = len(words)
	}
	s := &Sample{Method: "GET"}
	switch head {
	case 1:
		s.target(words[0])
	case 2:
		s.Method = words[0]
		s.target(words[1])
	default:
		return nil, fmt.Errorf("request %q: want a method, a URL and headers: GET http://users/v1 X-User-Id: 7", line)
	}
	for words = words[head:]; len(words) > 0; {
		next := slices.IndexFunc(words[1:], isHeaderStart) + 1
		if next == 0 {
			next = len(words)
		}
		s.header(strings.TrimSuffix(words[0], ":"), strings.Join(words[1:next], " "))
		words = words[next:]
	}
	return s, nil
}

// isHeaderStart tells whether a word of a line is the name of a header.
func isHeaderStart(word string) bool {
	name, ok := strings.CutSuffix(word, ":")
	return ok && isToken(name)
}

// ParseHTTP reads the head of a request as it goes over the wire; line ends
// may be LF alone.
func ParseHTTP(raw string) (*Sample, error) {
	lines := strings.Split(strings.ReplaceAll(raw, "\r\n", "\n"), "\n")
	words := strings.Fields(lines[0])
	if len(words) < 2 || len(words) > 3 {
		return nil, fmt.Errorf("request line %q: want GET /v1 HTTP/1.1", lines[0])
	}
	s := &Sample{Method: words[0]}
	for _, line := range lines[1:] {
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return nil, fmt.Errorf("header line %q: want a name, a colon and a value", line)
		}
		s.header(name, value)
	}
	s.target(words[1])
	return s, nil
}

// target takes apart the URL or path of a request. The host of a URL wins over
// the Host header (RFC 9112 section 3.2.2).
func (s *Sample) target(url string) {
	url, _, _ = strings.Cut(url, "#")
	_, rest, absolute := strings.Cut(url, "://")
	switch {
	case absolute:
		url = rest
	case strings.HasPrefix(url, "/") || url == "*":
		s.Path, s.Query, _ = strings.Cut(url, "?")
		return
	}
	end := strings.IndexAny(url, "/?")
	if end < 0 {
		end = len(url)
	}
	s.Host = url[:end]
	if at := strings.LastIndexByte(s.Host, '@'); at >= 0 {
		s.Host = s.Host[at+1:]
	}
	s.Path, s.Query, _ = strings.Cut(url[end:], "?")
	const connect = "CONNECT" // names a host, and no resource of it
	if s.Path == "" && s.Method != connect {
		s.Path = "/"
	}
}

// header notes a header; of several with one name the first counts, and
// cookies of all of them.
func (s *Sample) header(name, value string) {
	value = strings.TrimSpace(value)
	if strings.EqualFold(name, "Host") && s.Host == "" {
		s.Host = value
	}
	if s.Headers == nil {
		s.Headers = map[string]string{}
	}
	for known, before := range s.Headers {
		if !strings.EqualFold(known, name) {
			continue
		}
		if strings.EqualFold(name, "Cookie") {
			s.Headers[known] = before + "; " + value
		}
		return
	}
	s.Headers[name] = value
}
