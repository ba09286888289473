package relay

import (
	"slices"
	"strconv"
	"strings"
)

// fields are the lines of a head after its first.
func fields(message string) []string {
	head, _, _ := strings.Cut(message, "⏎⏎")
	return strings.Split(head, "⏎")[1:]
}

// values are those of one header, in order.
func values(message, name string) []string {
	var found []string
	for _, f := range fields(message) {
		if n, v, _ := strings.Cut(f, ":"); strings.EqualFold(n, name) {
			found = append(found, strings.TrimSpace(v))
		}
	}
	return found
}

// without takes lines out of a head.
func without(message string, names ...string) string {
	head, body, _ := strings.Cut(message, "⏎⏎")
	lines := slices.DeleteFunc(strings.Split(head, "⏎"), func(l string) bool {
		name, _, found := strings.Cut(l, ":")
		return found && slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
	})
	return strings.Join(lines, "⏎") + "⏎⏎" + body
}

// unmarked takes out what sidecars add to every request that they mark.
func unmarked(message string) string {
	return without(message, "X-Gray", "baggage", "tracestate", "traceparent", "X-Request-Id")
}

// framing is what a head says of its body; the length is -1 where it says nothing.
func framing(head string) (length int64, chunked bool) {
	length = -1
	for _, v := range values(head, "Content-Length") {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			length = n
		}
	}
	return length, len(values(head, "Transfer-Encoding")) > 0
}

func chunkSize(line string) (size int64, ok bool) {
	digits, _, _ := strings.Cut(strings.TrimSuffix(line, "⏎"), ";")
	n, err := strconv.ParseInt(digits, 16, 64)
	return n, err == nil
}

func methodOf(request string) string {
	method, _, _ := strings.Cut(request, " ")
	return method
}

func statusOf(reply string) string {
	_, rest, _ := strings.Cut(reply, " ")
	return rest[:min(3, len(rest))]
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func hexadecimal(n int64) string { return strconv.FormatInt(n, 16) }
