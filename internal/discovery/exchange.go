package discovery

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// mostUDP is how much a server may send in one datagram: what passes everywhere
// without being cut up (the value of DNS flag day 2020).
const mostUDP = 1232

// exchange sends a question to a server and returns its reply: by UDP and, where
// that does not hold the whole, by TCP. A reply that says that the name does not
// exist is no error, every other failure is.
func exchange(ctx context.Context, server string, timeout time.Duration, q dnsmessage.Question) (*dnsmessage.Message, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var id [2]byte
	_, _ = rand.Read(id[:]) // never fails
	query, err := packed(binary.BigEndian.Uint16(id[:]), q)
	if err != nil {
		return nil, err
	}
	reply, err := roundTrip(ctx, "udp", server, query, q)
	if err == nil && reply.Truncated {
		reply, err = roundTrip(ctx, "tcp", server, query, q)
	}
	if err != nil {
		return nil, err
	}
	switch reply.RCode {
	case dnsmessage.RCodeSuccess:
	case dnsmessage.RCodeNameError:
		reply.Answers = nil
	default:
		return nil, fmt.Errorf("it answered %s", strings.TrimPrefix(reply.RCode.String(), "RCode"))
	}
	return reply, nil
}

func packed(id uint16, q dnsmessage.Question) ([]byte, error) {
	var options dnsmessage.ResourceHeader
	if err := options.SetEDNS0(mostUDP, dnsmessage.RCodeSuccess, false); err != nil {
		return nil, err
	}
	m := dnsmessage.Message{
		Header:      dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions:   []dnsmessage.Question{q},
		Additionals: []dnsmessage.Resource{{Header: options, Body: &dnsmessage.OPTResource{}}},
	}
	return m.Pack()
}

func roundTrip(ctx context.Context, network, server string, query []byte, q dnsmessage.Question) (*dnsmessage.Message, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	// The end of ctx ends reading and writing too.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	reply, err := talk(conn, network == "tcp", query, q)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return reply, err
}

// talk sends the query and waits for its reply. A datagram that is none is passed
// over: anyone could have sent it.
func talk(conn net.Conn, stream bool, query []byte, q dnsmessage.Question) (*dnsmessage.Message, error) {
	if stream { // RFC 1035, section 4.2.2: the length comes first
		query = append(binary.BigEndian.AppendUint16(nil, uint16(len(query))), query...)
	}
	if _, err := conn.Write(query); err != nil {
		return nil, err
	}
	if stream {
		query = query[2:]
	}
	buf := make([]byte, 1<<16)
	for {
		data, err := receive(conn, stream, buf)
		if err != nil {
			return nil, err
		}
		m := new(dnsmessage.Message)
		if err := m.Unpack(data); err == nil && m.Response && answers(m, query, q) {
			return m, nil
		}
		if stream {
			return nil, errNoReply
		}
	}
}

func receive(conn net.Conn, stream bool, buf []byte) ([]byte, error) {
	if !stream {
		n, err := conn.Read(buf)
		return buf[:n], err
	}
	if _, err := io.ReadFull(conn, buf[:2]); err != nil {
		return nil, err
	}
	data := buf[:binary.BigEndian.Uint16(buf)]
	_, err := io.ReadFull(conn, data)
	return data, err
}

// answers tells whether a message is the reply to the query.
func answers(m *dnsmessage.Message, query []byte, q dnsmessage.Question) bool {
	return m.ID == binary.BigEndian.Uint16(query) && len(m.Questions) == 1 &&
		m.Questions[0].Type == q.Type && m.Questions[0].Class == q.Class &&
		strings.EqualFold(m.Questions[0].Name.String(), q.Name.String())
}

var errNoReply = errors.New("what came is no reply to the question")
