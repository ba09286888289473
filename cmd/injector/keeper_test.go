package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func newKeeper(t *testing.T, c *cluster, now time.Time) *keeper {
	t.Helper()
	return &keeper{
		cluster: c, namespace: "graylane-system", secret: "graylane-injector-tls", webhooks: "graylane-injector",
		host: host, now: func() time.Time { return now }, log: slog.New(slog.DiscardHandler),
	}
}

// served is the certificate that a keeper serves.
func served(t *testing.T, f certificateFunc) []byte {
	t.Helper()
	pair, err := f(nil)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Certificate[0]
}

func mustSync(t *testing.T, k *keeper) {
	t.Helper()
	if err := k.sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestReplicasThatStartAtOnceAgree(t *testing.T) {
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		a, c := startAPIServer(t)
		first, second := newKeeper(t, c, time.Now()), newKeeper(t, c, time.Now())
		a.before = map[string]func(){method: func() { mustSync(t, second) }} // is faster, while the first is about to write
		mustSync(t, first)
		if !bytes.Equal(served(t, first.certificate), served(t, second.certificate)) {
			t.Errorf("%s: the replicas serve different certificates", method)
		}
		if a.conflicts != 1 {
			t.Errorf("%s: %d conflicts, want 1: the first came too late once", method, a.conflicts)
		}
		if err := verify(t, fromSecret(a.secret), a.authorities(), time.Now()); err != nil {
			t.Errorf("%s: the API server would not take it: %v", method, err)
		}
	}
}

func TestNothingIsWrittenWhileAllIsGood(t *testing.T) {
	a, c := startAPIServer(t)
	k := newKeeper(t, c, time.Now())
	mustSync(t, k)
	writes := a.writes
	mustSync(t, k)
	if a.writes != writes {
		t.Errorf("%d more writes, want none", a.writes-writes)
	}
}

func TestAConfigurationThatIsAppliedAgainGetsItsAuthorityBack(t *testing.T) {
	a, c := startAPIServer(t)
	k := newKeeper(t, c, time.Now())
	mustSync(t, k)
	want := a.authorities()
	a.mutating.Webhooks[1].ClientConfig.CABundle = nil
	a.mutating.ResourceVersion = next(a.mutating.ResourceVersion)
	mustSync(t, k)
	if got := a.authorities(); !bytes.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheCertificateIsReplacedInTime(t *testing.T) {
	a, c := startAPIServer(t)
	k := newKeeper(t, c, time.Now())
	mustSync(t, k)
	before := served(t, k.certificate)
	later := time.Now().Add(leafLife - leafRenew + time.Hour)
	k.now = func() time.Time { return later }
	mustSync(t, k)
	if bytes.Equal(served(t, k.certificate), before) {
		t.Error("the certificate is the old one")
	}
	if err := verify(t, fromSecret(a.secret), a.authorities(), later); err != nil {
		t.Errorf("the API server would not take the new one: %v", err)
	}
}

func TestWhatTheAPIServerRefusesIsTold(t *testing.T) {
	_, c := startAPIServer(t)
	k := newKeeper(t, c, time.Now())
	k.secret = "another"
	if err := k.sync(t.Context()); err == nil || !strings.Contains(err.Error(), "secrets/another: status 404") {
		t.Errorf("got %v, want the path and the status", err)
	}
	if _, err := k.certificate(nil); err == nil {
		t.Error("got a certificate, want none")
	}
	if err := os.WriteFile(c.tokens, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.version(t.Context()); err == nil || !strings.Contains(err.Error(), "status 401: who are you") {
		t.Errorf("with an old token: got %v, want the API server's words", err)
	}
}

func TestTheKeeperStopsWithItsContext(t *testing.T) {
	_, c := startAPIServer(t)
	ctx, stop := context.WithCancel(t.Context())
	k := newKeeper(t, c, time.Now())
	k.now = func() time.Time { // is asked in the middle of its work
		stop()
		return time.Now()
	}
	k.run(ctx) // returns, or the test does not
}

func TestAFolderIsReadAgain(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	f := &folder{dir: dir, now: func() time.Time { return now }}
	if _, err := f.certificate(nil); err == nil {
		t.Error("an empty folder: got a certificate, want an error")
	}
	write := func() []byte {
		c, _, err := renew(credentials{}, host, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"tls.crt": c.Certificate, "tls.key": c.Key} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return c.Certificate
	}
	write()
	first := served(t, f.certificate)
	write()
	if !bytes.Equal(served(t, f.certificate), first) {
		t.Error("read again within a minute, want it once a minute at most")
	}
	now = now.Add(2 * rereadAfter)
	second := served(t, f.certificate)
	if bytes.Equal(second, first) {
		t.Error("got the old certificate after two minutes")
	}
	if err := os.Remove(filepath.Join(dir, "tls.key")); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * rereadAfter)
	if !bytes.Equal(served(t, f.certificate), second) {
		t.Error("a broken folder took the certificate away")
	}
}
