package tcp

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"
)

// patience is far above what a loaded machine needs.
const patience = 20 * time.Second

// relayed is a caller and an origin with a relay between them.
type relayed struct {
	caller, origin *net.TCPConn
	done           <-chan Flow
}

func relay(t testing.TB, r *Relay) relayed {
	t.Helper()
	caller, callerSide := connected(t)
	originSide, origin := connected(t)
	done := make(chan Flow, 1)
	r.Start(callerSide, originSide, func(f Flow) { done <- f })
	return relayed{caller, origin, done}
}

// connected gives both ends of a TCP connection, closed when the test ends.
func connected(t testing.TB) (ours, theirs *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return accepted.(*net.TCPConn), dialed.(*net.TCPConn)
}

func (r relayed) flow(t testing.TB) Flow {
	t.Helper()
	select {
	case f := <-r.done:
		return f
	case <-time.After(patience):
		t.Fatal("the relay goes on")
		return Flow{}
	}
}

func write(t testing.TB, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// expect reads as many bytes as it wants.
func expect(t testing.TB, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got[:n], err, want)
	}
}

// expectEnd reads until the end and wants nothing before it.
func expectEnd(t testing.TB, conn net.Conn, want error) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, want) {
		t.Errorf("got %d bytes, %v, want %v", n, err, want)
	}
}

func closeWrite(t testing.TB, conn *net.TCPConn) {
	t.Helper()
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
}

func reset(t testing.TB, conn *net.TCPConn) {
	t.Helper()
	if err := conn.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBytesGoBothWays(t *testing.T) {
	var r Relay
	pair := relay(t, &r)
	write(t, pair.origin, "220 mail\r\n")
	expect(t, pair.caller, "220 mail\r\n")
	write(t, pair.caller, "EHLO a\r\n")
	expect(t, pair.origin, "EHLO a\r\n")
	write(t, pair.origin, "250 ok\r\n")
	expect(t, pair.caller, "250 ok\r\n")
	if got := r.Open(); got != 1 {
		t.Errorf("got %d open pairs, want 1", got)
	}
	closeWrite(t, pair.caller)
	closeWrite(t, pair.origin)
	if got, want := pair.flow(t), (Flow{ToOrigin: 8, ToCaller: 18}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if toOrigin, toCaller := r.Bytes(); toOrigin != 8 || toCaller != 18 || r.Open() != 0 {
		t.Errorf("got %d and %d bytes, %d open pairs, want 8, 18 and none", toOrigin, toCaller, r.Open())
	}
}

func TestOneSideMayEndBeforeTheOther(t *testing.T) {
	for _, first := range []string{"caller", "origin"} {
		t.Run(first, func(t *testing.T) {
			pair := relay(t, &Relay{})
			ending, going := pair.caller, pair.origin
			if first == "origin" {
				ending, going = going, ending
			}
			write(t, ending, "last words")
			closeWrite(t, ending)
			expect(t, going, "last words")
			expectEnd(t, going, io.EOF)
			write(t, going, "and")
			expect(t, ending, "and")
			write(t, going, " more")
			expect(t, ending, " more")
			closeWrite(t, going)
			expectEnd(t, ending, io.EOF)
			if got := pair.flow(t); got.Err != nil {
				t.Errorf("got %v, want a clean end", got.Err)
			}
		})
	}
}

func TestResetsArePassedOn(t *testing.T) {
	for _, c := range []struct {
		name  string
		ended bool // the other side had ended before
	}{{"while both go on", false}, {"after the other has ended", true}} {
		for _, by := range []string{"caller", "origin"} {
			t.Run(by+" "+c.name, func(t *testing.T) {
				pair := relay(t, &Relay{})
				resetting, other := pair.caller, pair.origin
				if by == "origin" {
					resetting, other = other, resetting
				}
				if c.ended {
					closeWrite(t, other)
					expectEnd(t, resetting, io.EOF)
				}
				reset(t, resetting)
				expectEnd(t, other, syscall.ECONNRESET)
				if got := pair.flow(t); !errors.Is(got.Err, syscall.ECONNRESET) {
					t.Errorf("got %v, want a reset", got.Err)
				}
			})
		}
	}
}

func TestAPeerThatReadsNoMoreResetsTheWriter(t *testing.T) {
	pair := relay(t, &Relay{})
	write(t, pair.caller, "unread")
	expect(t, pair.origin, "u")
	pair.origin.Close() // with bytes unread, which is a reset
	expectEnd(t, pair.caller, syscall.ECONNRESET)
}

func TestLargeTransfersArriveWhole(t *testing.T) {
	const size = 32 << 20
	var r Relay
	pair := relay(t, &r)
	sums := make(chan []byte, 4)
	for _, conn := range []*net.TCPConn{pair.caller, pair.origin} { // both ways at once
		go func() {
			sent := sha256.New()
			seed := rand.NewChaCha8([32]byte{})
			if _, err := io.CopyN(io.MultiWriter(conn, sent), seed, size); err != nil {
				t.Error(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Error(err)
			}
			sums <- sent.Sum(nil)
		}()
		go func() {
			got := sha256.New()
			if n, err := io.Copy(got, conn); err != nil || n != size {
				t.Errorf("read %d bytes, %v, want %d", n, err, size)
			}
			sums <- got.Sum(nil)
		}()
	}
	if got, want := pair.flow(t), (Flow{ToOrigin: size, ToCaller: size}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want := <-sums
	for range 3 {
		if got := <-sums; !bytes.Equal(got, want) {
			t.Errorf("got digest %x, want %x", got, want)
		}
	}
}

func TestASlowReaderHoldsUpTheWriter(t *testing.T) {
	pair := relay(t, &Relay{})
	if err := pair.caller.SetWriteDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	// Nobody reads: what the sockets hold is some megabytes at most.
	n, err := io.CopyN(pair.caller, rand.NewChaCha8([32]byte{}), 100<<20)
	if err == nil {
		t.Errorf("%d bytes were taken that nobody reads", n)
	}
}

func TestIdlePairsAreResetByTheLimitAlone(t *testing.T) {
	r := &Relay{Idle: 500 * time.Millisecond}
	pair := relay(t, r)
	sent, busy := keepBusy(t, pair, r.Idle)
	for !busy {
		pair = relay(t, r)
		sent, busy = keepBusy(t, pair, r.Idle)
	}
	expectEnd(t, pair.caller, syscall.ECONNRESET)
	expectEnd(t, pair.origin, syscall.ECONNRESET)
	if got := pair.flow(t); !errors.Is(got.Err, ErrIdle) || got.ToOrigin != sent {
		t.Errorf("got %+v, want %v after %d bytes", got, ErrIdle, sent)
	}
}

// keepBusy moves bytes for twice the time that the pair may be idle, and says how many. It did not keep the pair busy
// where the machine stood still for half of that time.
func keepBusy(t testing.TB, pair relayed, idle time.Duration) (sent uint64, busy bool) {
	t.Helper()
	if err := pair.origin.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for last := begin; time.Since(begin) < 2*idle; sent++ {
		_, err := io.WriteString(pair.caller, "a")
		if err == nil {
			_, err = pair.origin.Read(make([]byte, 1))
		}
		if time.Since(last) > idle/2 {
			return 0, false
		}
		if err != nil {
			t.Fatalf("after %d bytes without a pause: %v", sent, err)
		}
		last = time.Now()
	}
	return sent, true
}

func TestCloseResetsWhatIsLeft(t *testing.T) {
	var r Relay
	pair := relay(t, &r)
	write(t, pair.caller, "a")
	expect(t, pair.origin, "a")
	r.Close()
	expectEnd(t, pair.caller, syscall.ECONNRESET)
	expectEnd(t, pair.origin, syscall.ECONNRESET)
	if got := pair.flow(t); !errors.Is(got.Err, ErrCut) {
		t.Errorf("got %v, want %v", got.Err, ErrCut)
	}
	late := relay(t, &r)
	expectEnd(t, late.caller, syscall.ECONNRESET)
	if got := late.flow(t); !errors.Is(got.Err, ErrCut) {
		t.Errorf("later: got %v, want %v", got.Err, ErrCut)
	}
}
