package listen

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Detector tells what connections speak. It changes nothing about them: every
// byte stays in the socket, for whoever serves the connection.
//
// It waits by what the first bytes could still become. A caller that says nothing
// is waited for without limit, but after Silence the origin is connected to, and
// whoever speaks first decides: an origin that does speaks no HTTP. Bytes that
// may become a request with a registered method, a ClientHello or an HTTP/2
// preface are waited for up to Patience; any other word up to Doubt.
//
// It errs towards HTTP for what a lenient server could take for a request, so
// that no request reaches an app unmarked; what is no valid HTTP is refused then
// by the HTTP server. A request line with anything before the method but empty
// lines, or a line without HTTP/ in it, is TCP. So is a word that is no
// registered method and pauses longer than Doubt, which is right for a protocol
// of lines, and wrong for an HTTP client with a method of its own that writes its
// first line that slowly: its request arrives, but is not routed.
//
// The zero value works. All fields are set before its first use.
type Detector struct {
	// Opaque are ports whose connections are TCP without a look: no wait at all.
	Opaque []uint16
	// Silence is how long a caller may say nothing before the origin is asked,
	// default 50 ms. It is what a server that speaks first loses.
	Silence time.Duration
	// Doubt is how long a word that is no registered method is waited for,
	// default 200 ms from the first byte.
	Doubt time.Duration
	// Patience is how long anything else is waited for, default 10 s from the
	// first byte.
	Patience time.Duration

	buffers sync.Pool // of *[smallPeek]byte
}

// Dial connects to where a caller was going.
type Dial func(ctx context.Context) (*net.TCPConn, error)

// Finding is what a connection speaks.
type Finding struct {
	Protocol   Protocol
	ServerName string       // of TLS: what the caller asks for (SNI); "" if it does not say
	Origin     *net.TCPConn // connected already, since the caller was slow to speak; else nil. The caller of Detect closes it.
}

// Detect finds out what the caller of conn speaks, of whom first was read already.
// port is where it was going; dial connects there, nil if that is not to be tried.
// The error is that of dial, when the caller should be refused, or of conn, or of
// ctx. Read deadlines of conn are cleared.
func (d *Detector) Detect(ctx context.Context, conn *net.TCPConn, first []byte, port uint16, dial Dial) (Finding, error) {
	if slices.Contains(d.Opaque, port) {
		return Finding{Protocol: TCP}, nil
	}
	p, err := newPeeker(conn, first, &d.buffers)
	if err != nil {
		return Finding{}, err
	}
	defer p.release()
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		_ = conn.SetReadDeadline(longAgo()) // fails if conn is closed, which wakes too
	})
	w := &watch{detector: d, conn: conn, peeker: p, start: time.Now()}
	finding, err := w.find(ctx, dial)
	finding.Origin = w.race.stop()
	if !stop() {
		<-woken
	}
	if err == nil {
		err = conn.SetReadDeadline(time.Time{})
	}
	if err != nil && finding.Origin != nil {
		err = errors.Join(err, finding.Origin.Close())
		finding.Origin = nil
	}
	return finding, err
}

// watch is one Detect.
type watch struct {
	detector *Detector
	conn     *net.TCPConn
	peeker   *peeker
	race     *race     // nil until the origin is asked
	start    time.Time // of the watch
	first    time.Time // when the first byte was seen
}

// find waits until the first bytes tell, or time is up, or the origin speaks.
func (w *watch) find(ctx context.Context, dial Dial) (Finding, error) {
	var seen []byte
	var err error
	for {
		limit := w.limit(seen)
		wake := limit
		if ask := w.start.Add(w.detector.silence()); dial != nil && (wake.IsZero() || ask.Before(wake)) {
			wake = ask
		}
		seen, err = w.wait(ctx, wake)
		switch protocol := classify(seen); {
		case protocol == TLS:
			return Finding{Protocol: TLS, ServerName: w.serverName(ctx, seen)}, nil
		case protocol != Unknown:
			return Finding{Protocol: protocol}, nil
		case ctx.Err() != nil:
			return Finding{}, ctx.Err()
		case w.race.over():
			return Finding{Protocol: TCP}, w.race.failure()
		case errors.Is(err, io.EOF):
			return Finding{Protocol: TCP}, nil
		case err == nil:
			continue
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return Finding{}, err
		case !limit.IsZero() && !time.Now().Before(limit):
			return Finding{Protocol: settle(seen)}, nil
		case dial != nil:
			w.race = startRace(ctx, dial, w.conn, &w.detector.buffers)
			dial = nil
		}
	}
}

// wait gives all bytes once there are more, with an error once the time has come
// or the race is over.
func (w *watch) wait(ctx context.Context, wake time.Time) ([]byte, error) {
	if err := w.conn.SetReadDeadline(wake); err != nil {
		return nil, err
	}
	// What ended before the deadline was set cannot wake us any more.
	if w.race.over() || ctx.Err() != nil {
		return nil, os.ErrDeadlineExceeded
	}
	seen, err := w.peeker.more()
	if len(seen) > 0 && w.first.IsZero() {
		w.first = time.Now()
	}
	return seen, err
}

// limit is when bytes that tell nothing yet are given up on; zero for no bytes.
func (w *watch) limit(seen []byte) time.Time {
	switch {
	case len(seen) == 0:
		return time.Time{}
	case seen[0] == recordHandshake || likelyHTTP(seen):
		return w.first.Add(w.detector.patience())
	default:
		return w.first.Add(w.detector.doubt())
	}
}

// settle says what bytes are that tell nothing although their time is up.
func settle(seen []byte) Protocol {
	if likelyHTTP(seen) {
		return HTTP1
	}
	return TCP
}

// serverName waits for the whole ClientHello. Without it there is no name, and
// the server will say what it thinks of that.
func (w *watch) serverName(ctx context.Context, seen []byte) string {
	limit := w.first.Add(w.detector.patience())
	for {
		name, complete := serverName(seen)
		if complete {
			return name
		}
		var err error
		if seen, err = w.wait(ctx, limit); err != nil {
			return ""
		}
	}
}

func (d *Detector) silence() time.Duration  { return cmp.Or(d.Silence, 50*time.Millisecond) }
func (d *Detector) doubt() time.Duration    { return cmp.Or(d.Doubt, 200*time.Millisecond) }
func (d *Detector) patience() time.Duration { return cmp.Or(d.Patience, 10*time.Second) }
