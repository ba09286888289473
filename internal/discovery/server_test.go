package discovery

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is a name server with records of the test's.
type nameServer struct {
	addr string

	mu      sync.Mutex
	records map[string][]dnsmessage.Resource // by name and type: "users.shop. A"
	rcodes  map[string]dnsmessage.RCode      // by the same
	negTTL  uint32                           // of the SOA record beside an answer of nothing
	silent  map[string]bool                  // names, or names and types, that are not answered
	large   bool                             // by UDP answers are cut
	forged  bool                             // before the answer come some that are none
	asked   []string
}

// newNameServer starts one that knows nothing.
func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	s := &nameServer{
		records: map[string][]dnsmessage.Resource{}, rcodes: map[string]dnsmessage.RCode{}, silent: map[string]bool{}, negTTL: 60,
	}
	var udp net.PacketConn
	var tcp net.Listener
	var err error
	for range 20 { // another process may have the port for one of both
		if udp, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		if tcp, err = net.Listen("tcp", udp.LocalAddr().String()); err == nil {
			break
		}
		udp.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s.addr = udp.LocalAddr().String()
	t.Cleanup(func() { udp.Close(); tcp.Close() })
	go s.serveUDP(udp)
	go s.serveTCP(tcp)
	return s
}

func (s *nameServer) serveUDP(conn net.PacketConn) {
	buf := make([]byte, 1<<16)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		for _, reply := range s.replies(buf[:n], true) {
			_, _ = conn.WriteTo(reply, from) // who is gone needs none
		}
	}
}

func (s *nameServer) serveTCP(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			var length [2]byte
			if _, err := io.ReadFull(conn, length[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(conn, query); err != nil {
				return
			}
			for _, reply := range s.replies(query, false) {
				_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
			}
		}()
	}
}

func (s *nameServer) replies(query []byte, udp bool) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	key := strings.ToLower(q.Name.String()) + " " + strings.TrimPrefix(q.Type.String(), "Type")
	s.asked = append(s.asked, key)
	if s.silent[strings.ToLower(q.Name.String())] || s.silent[key] {
		return nil
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RCode: s.rcodes[key]},
		Questions: m.Questions,
		Answers:   s.records[key],
	}
	if udp && s.large {
		reply.Truncated, reply.Answers = true, nil
	}
	if len(reply.Answers) == 0 {
		reply.Authorities = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 3600},
			Body:   &dnsmessage.SOAResource{NS: q.Name, MBox: q.Name, MinTTL: s.negTTL},
		}}
	}
	var list [][]byte
	if s.forged {
		other := reply
		other.ID++
		other.Answers = nil
		list = append(list, pack(&other), []byte("nonsense"))
		other = reply
		other.Answers = nil
		other.Questions = []dnsmessage.Question{{Name: dnsmessage.MustNewName("other."), Type: q.Type, Class: q.Class}}
		list = append(list, pack(&other))
	}
	return append(list, pack(&reply))
}

func pack(m *dnsmessage.Message) []byte {
	data, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return data
}

func header(name string, ttl uint32) dnsmessage.ResourceHeader {
	return dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: dnsmessage.ClassINET, TTL: ttl}
}

// host gives a name addresses in place of those that it has.
func (s *nameServer) host(name string, ttl uint32, addresses ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, name+" A")
	delete(s.records, name+" AAAA")
	for _, text := range addresses {
		addr := netip.MustParseAddr(text)
		if addr.Is4() {
			s.records[name+" A"] = append(s.records[name+" A"],
				dnsmessage.Resource{Header: header(name, ttl), Body: &dnsmessage.AResource{A: addr.As4()}})
			continue
		}
		s.records[name+" AAAA"] = append(s.records[name+" AAAA"],
			dnsmessage.Resource{Header: header(name, ttl), Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}})
	}
}

func (s *nameServer) service(name string, ttl uint32, priority, weight, port uint16, host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[name+" SRV"] = append(s.records[name+" SRV"], dnsmessage.Resource{
		Header: header(name, ttl),
		Body:   &dnsmessage.SRVResource{Priority: priority, Weight: weight, Port: port, Target: dnsmessage.MustNewName(host)},
	})
}

// fail makes questions for these, "users.shop. A", end with that code; success
// ends that.
func (s *nameServer) fail(code dnsmessage.RCode, keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.rcodes[key] = code
	}
}

// set changes the server while it serves.
func (s *nameServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *nameServer) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// resolver asks this server.
func (s *nameServer) resolver() *Resolver {
	return &Resolver{Servers: []string{s.addr}, File: "/nonexistent", Timeout: 10 * time.Second}
}
