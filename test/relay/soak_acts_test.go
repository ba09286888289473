package relay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// act is one thing that a caller does in TestSoak, and what must come of it.
type act struct {
	name string
	play func(s *soak, p *peer) (goesOn bool, err error)
}

func acts() []act {
	return []act{
		{"GET", get}, {"GET, three at once", pipeline}, {"HEAD", head}, {"HTTP/1.0", old}, {"byte by byte", slowly},
		{"POST, once", post}, {"large POST", largePost}, {"echo in chunks", echo}, {"early reply", early}, {"the origin's last", last},
		{"the origin dies", die}, {"the caller leaves", leave}, {"no request", nonsense}, {"upgrade", switchOver}, {"tunnel", tunnel},
	}
}

// exchange wants a certain reply.
func exchange(p *peer, method, request, want string) (bool, error) {
	p.say(request)
	if got := p.reply(method); got != want {
		return false, fmt.Errorf("got %.300q, want %.300q", got, want)
	}
	return true, nil
}

func anySize() string {
	return fmt.Sprintf("/%d", []int{0, 1, 100, 1 << 10, 64 << 10, 300 << 10}[rand.IntN(6)])
}

func get(_ *soak, p *peer) (bool, error) {
	path := anySize()
	return exchange(p, "GET", "GET "+path+" HTTP/1.1⏎Host: shop⏎X-User-Id: "+path+"⏎⏎", sized(path))
}

func pipeline(_ *soak, p *peer) (bool, error) {
	paths := []string{anySize(), anySize(), anySize()}
	for _, path := range paths {
		p.say("GET " + path + " HTTP/1.1⏎Host: shop⏎⏎")
	}
	for _, path := range paths {
		if got := p.reply("GET"); got != sized(path) {
			return false, fmt.Errorf("got %.300q, want %.300q", got, sized(path))
		}
	}
	return true, nil
}

func head(_ *soak, p *peer) (bool, error) {
	return exchange(p, "HEAD", "HEAD /0 HTTP/1.1⏎Host: shop⏎⏎", sized("/0"))
}

func old(_ *soak, p *peer) (bool, error) {
	return exchange(p, "GET", "GET /100 HTTP/1.0⏎Host: shop⏎Connection: keep-alive⏎⏎",
		strings.Replace(sized("/100"), "⏎⏎", "⏎Connection: keep-alive⏎⏎", 1))
}

func slowly(_ *soak, p *peer) (bool, error) {
	request := crlf("POST /100 HTTP/1.1⏎Host: shop⏎Content-Length: 3⏎⏎abc")
	for i := range len(request) - 1 {
		p.say(request[i : i+1])
	}
	return exchange(p, "POST", request[len(request)-1:], sized("/100"))
}

func post(s *soak, p *peer) (bool, error) {
	id := fmt.Sprintf("%016x", rand.Uint64())
	goesOn, err := exchange(p, "POST", "POST /post HTTP/1.1⏎Host: shop⏎Content-Length: 16⏎⏎"+id, ok)
	if err == nil {
		s.mu.Lock()
		s.done[id] = true
		s.mu.Unlock()
	}
	return goesOn, err
}

func largePost(_ *soak, p *peer) (bool, error) {
	n := rand.IntN(500_000)
	return exchange(p, "POST", fmt.Sprintf("PUT /1 HTTP/1.1⏎Host: shop⏎Content-Length: %d⏎⏎%s", n, strings.Repeat("z", n)), sized("/1"))
}

func echo(_ *soak, p *peer) (bool, error) {
	body := "5⏎hello⏎" + fmt.Sprintf("%x⏎%s⏎", 5000, strings.Repeat("e", 5000)) + "0⏎X-T: 1⏎⏎"
	return exchange(p, "POST", "POST /echo HTTP/1.1⏎Host: shop⏎Transfer-Encoding: chunked⏎⏎"+body,
		"HTTP/1.1 200 OK⏎Trailer: X-T⏎Transfer-Encoding: chunked⏎⏎"+body)
}

func early(_ *soak, p *peer) (bool, error) {
	goesOn, err := exchange(p, "POST", "POST /early HTTP/1.1⏎Host: shop⏎Content-Length: 40000⏎⏎", ok)
	p.say(strings.Repeat("l", 40000))
	return goesOn, err
}

func last(_ *soak, p *peer) (bool, error) {
	return exchange(p, "GET", "GET /last HTTP/1.1⏎Host: shop⏎⏎", ok)
}

func die(_ *soak, p *peer) (bool, error) {
	p.say("GET /die HTTP/1.1⏎Host: shop⏎⏎")
	got, err := p.rest()
	if isTimeout(err) || strings.Count(got, "HTTP/1.1 ") != 1 || len(got) >= 100000 {
		return false, fmt.Errorf("got %d bytes, %w, want a reply that breaks off", len(got), err)
	}
	return false, nil
}

func leave(_ *soak, p *peer) (bool, error) {
	p.say("GET /307200 HTTP/1.1⏎Host: shop⏎⏎")
	p.bytes(int64(rand.IntN(1000)))
	return false, nil
}

func nonsense(_ *soak, p *peer) (bool, error) {
	p.say("GET / HTTP/1.1⏎Host: shop⏎Content-Length: 1⏎Content-Length: 2⏎⏎ab")
	if got, err := p.rest(); statusOf(got) != "400" || isTimeout(err) {
		return false, fmt.Errorf("got %q, %w, want 400 and the end", got, err)
	}
	return false, nil
}

func switchOver(_ *soak, p *peer) (bool, error) {
	p.say(strings.Replace(upgrade, "/chat", "/upgrade", 1) + "hello")
	if got := p.head(); statusOf(got) != "101" {
		return false, fmt.Errorf("got %q, want 101", got)
	}
	if got := p.bytes(5); got != "hello" {
		return false, fmt.Errorf("got %q, want hello", got)
	}
	return false, nil
}

func tunnel(s *soak, p *peer) (bool, error) {
	p.say("CONNECT " + s.origin.address() + " HTTP/1.1⏎Host: x⏎⏎GET /100 HTTP/1.1⏎Host: shop⏎⏎")
	if got := p.head(); got != established {
		return false, fmt.Errorf("got %q, want %q", got, established)
	}
	p.giveTime(10 * time.Second)
	_, err := exchange(p, "GET", "", sized("/100"))
	return false, err
}
