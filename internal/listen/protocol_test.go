package listen

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
)

func TestFirstBytesTellTheProtocol(t *testing.T) {
	long := strings.Repeat("a", maxLine)
	for _, c := range []struct {
		bytes string
		want  Protocol
	}{
		{"", Unknown},

		{"G", Unknown},
		{"GET", Unknown},
		{"GET /a%20b?c=d HTTP", Unknown},
		{"GET /a%20b?c=d HTTP/", HTTP1},
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP1},
		{"\r\n\nGET / HTTP/1.1\r\n", HTTP1},
		{"\r\n", Unknown},
		{strings.Repeat("\n", maxEmpty+1), TCP},
		{strings.Repeat("\n", maxEmpty+1) + "GET / HTTP/1.1", TCP},
		{"M-SEARCH * HTTP/1.1\r\n", HTTP1},
		{"CONNECT a:443 HTTP/1.1\r\n", HTTP1},
		// What a lenient server may take for a request must not pass unmarked.
		{"get / http/1.0\n", HTTP1},
		{"GET\t/\tHTTP/1.1\r\n", HTTP1},
		{"GET /\x01\xff HTTP/1.1\r\n", HTTP1},
		{"GET /" + long, HTTP1},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", HTTP1},

		{"PRI * HTTP/2.0\r\n\r\n", Unknown},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", H2C},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04", H2C},

		{"\x16", Unknown},
		{"\x16\x03\x01\x00\xf0", Unknown},
		{"\x16\x03\x01\x00\xf0\x01", TLS},
		{"\x16\x03\x04\x40\x00\x01", TLS},
		{"\x16\x02", TCP},
		{"\x16\x03\x05", TCP},
		{"\x16\x03\x01\x00\xf0\x02", TCP},         // a ServerHello
		{"\x16\x03\x01\x00\x00\x01", TCP},         // an empty record
		{"\x16\x03\x01\x40\x01\x01", TCP},         // a record that is too long
		{"\x15\x03\x01\x00\x02", TCP},             // an alert
		{"\x80\x2e\x01\x03\x01", TCP},             // SSL 2
		{"GET /index.html\r\n", TCP},              // HTTP/0.9
		{"OPTIONS sip:a@b SIP/2.0\r\n", TCP},      // SIP
		{"OPTIONS rtsp://a RTSP/1.0\r\n", TCP},    // RTSP
		{"EHLO a.example\r\n", TCP},               // SMTP
		{"SSH-2.0-OpenSSH_9.2\r\n", TCP},          // SSH
		{"PING\r\n", TCP},                         // Redis, inline
		{"*1\r\n$4\r\nPING\r\n", TCP},             // Redis
		{"SET key value\r\n", TCP},                // Redis, inline
		{"get key\r\n", TCP},                      // memcached
		{"set key 0 0 5\r\nhello\r\n", TCP},       // memcached
		{"CONNECT {\"verbose\":false}\r\n", TCP},  // NATS
		{"CONNECT\naccept-version:1.2\n", TCP},    // STOMP
		{"\x00\x00\x00\x08\x04\xd2\x16\x2f", TCP}, // PostgreSQL asks for TLS
		{"AMQP\x00\x00\x09\x01", TCP},             // AMQP
		{"\x10\x0c\x00\x04MQTT", TCP},             // MQTT
		{"\x3f\x00\x00\x00\x01\x00\x00\x00", TCP}, // MongoDB
		{"\x00\x00\x00\x23\x00\x12\x00\x03", TCP}, // Kafka
		{"\x04\x00\x00\x00\x05", TCP},             // Cassandra
		{"\x80\x0b\x00\x00", TCP},                 // memcached, binary
		{"hello", Unknown},
		{"hello\n", TCP},
		{strings.Repeat("a", maxToken+1), TCP},
		{"\xe4 / HTTP/1.1\r\n", TCP},
		{" GET / HTTP/1.1\r\n", TCP},
	} {
		if got := classify([]byte(c.bytes)); got != c.want {
			t.Errorf("%.60q: got %v, want %v", c.bytes, got, c.want)
		}
	}
}

func TestRegisteredMethodsAreLikely(t *testing.T) {
	for bytes, want := range map[string]bool{
		"": false, "\r\n": false, "G": true, "\r\nGE": true, "GET": true, "GET ": true, "GET /index": true, "PRI * HTTP/2.0\r\n\r\nS": true,
		"GETS": false, "GETS ": false, "PU": true, "PURG": true, "get": false, "hello": false, "SET key": false,
		"VERSION-CONTROL /": true,
	} {
		if got := likelyHTTP([]byte(bytes)); got != want {
			t.Errorf("%q: got %v, want %v", bytes, got, want)
		}
	}
}

func TestNoDecisionAllocates(t *testing.T) {
	request := []byte("GET /some/path?with=query HTTP/1.1\r\nHost: users\r\n\r\n")
	if got := testing.AllocsPerRun(100, func() { classify(request) }); got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

// hello gives the first flight of Go's TLS client.
func hello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(theirs, config).Handshake() // fails when we hang up
		theirs.Close()
	}()
	defer ours.Close()
	head := make([]byte, recordHead)
	if _, err := io.ReadFull(ours, head); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint16(head[3:]))
	if _, err := io.ReadFull(ours, body); err != nil {
		t.Fatal(err)
	}
	return append(head, body...)
}

// cut sends a handshake record as many, each with so many bytes of it.
func cut(record []byte, size int) []byte {
	var out []byte
	for part := range slicesOf(record[recordHead:], size) {
		out = append(out, record[0], record[1], record[2], byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

func slicesOf(b []byte, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for len(b) > 0 {
			n := min(size, len(b))
			if !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}

func TestServerNames(t *testing.T) {
	named := hello(t, &tls.Config{ServerName: "users.shop.svc"})
	nameless := hello(t, &tls.Config{InsecureSkipVerify: true})
	broken := bytes.Clone(named)
	broken[recordHead+4+2+32] = 0xff // the session's length reaches past the end of what follows
	for _, c := range []struct {
		name     string
		hello    []byte
		want     string
		complete bool
	}{
		{"named", named, "users.shop.svc", true},
		{"nameless", nameless, "", true},
		{"in records of 7 bytes", cut(named, 7), "users.shop.svc", true},
		{"in records of one byte", cut(named, 1), "users.shop.svc", true},
		{"with more behind it", append(bytes.Clone(named), named...), "users.shop.svc", true},
		{"all but the last byte", named[:len(named)-1], "", false},
		{"a part of the head", named[:3], "", false},
		{"an alert within", append(cut(named, 7)[:12], 0x15, 3, 3, 0, 2, 2, 40), "", true},
	} {
		if got, complete := serverName(c.hello); got != c.want || complete != c.complete {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, got, complete, c.want, c.complete)
		}
	}
	if got, complete := serverName(broken); got == "users.shop.svc" || !complete {
		t.Errorf("broken: got %q, %v, want no such name, and no wait for more", got, complete)
	}
}

func FuzzMoreBytesNeverChangeAVerdict(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nXX", "\r\n\r\nGET / HTTP/1.0\n",
		"SET a b\r\nGET / HTTP/1.1", "\x16\x03\x01\x00\xf0\x01", "hello HTTP/1", strings.Repeat("\n", maxEmpty) + "A B HTTP/",
		"GET /" + strings.Repeat("a", maxLine-10) + " HTTP/1.1\r\n",
	} {
		f.Add([]byte(seed), uint16(len(seed)/2))
	}
	record := hello(f, &tls.Config{ServerName: "users"})
	f.Add(record, uint16(len(record)-1))
	f.Add(cut(record, 20), uint16(len(record)))
	f.Fuzz(func(t *testing.T, p []byte, cut uint16) {
		some := p[:min(int(cut), len(p))]
		before, after := classify(some), classify(p)
		if before != Unknown && before != after {
			t.Errorf("%q is %v, with more bytes %q is %v", some, before, p, after)
		}
		if before != TLS {
			return
		}
		name, complete := serverName(some)
		nameAfter, completeAfter := serverName(p)
		if complete && (nameAfter != name || !completeAfter) {
			t.Errorf("%q asks for %q, with more bytes %q for %q", some, name, p, nameAfter)
		}
	})
}
