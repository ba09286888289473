package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"
)

const host = "graylane-injector.graylane-system.svc"

// verify says whether an API server that knows these authorities takes the certificate.
func verify(t *testing.T, c credentials, authorities []byte, now time.Time) error {
	t.Helper()
	pair, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now})
	return err
}

func TestCertificatesCountForDecadesThroughEveryReplacement(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first, changed, err := renew(credentials{}, host, now)
	if err != nil || !changed {
		t.Fatalf("the first: changed %v, error %v", changed, err)
	}
	current, known := first, first.Authorities
	leaves, authorities := 1, 1
	const step = 20 * 24 * time.Hour // every look would take minutes
	for end := now.Add(20 * 365 * 24 * time.Hour); now.Before(end); now = now.Add(step) {
		fresh, changed, err := renew(current, host, now)
		if err != nil {
			t.Fatalf("%v: %v", now, err)
		}
		if changed != !equal(fresh, current) {
			t.Fatalf("%v: changed is %v", now, changed)
		}
		if !bytes.Equal(fresh.Certificate, current.Certificate) {
			leaves++
		}
		if !bytes.Equal(fresh.Authorities, current.Authorities) {
			authorities++
		}
		// A replica with the new one meets an API server that knows the authorities before, and the other way round.
		if err := verify(t, fresh, known, now); err != nil {
			t.Fatalf("%v: the new certificate by the authorities before: %v", now, err)
		}
		if err := verify(t, current, fresh.Authorities, now); err != nil {
			t.Fatalf("%v: the certificate before, by the new authorities: %v", now, err)
		}
		current, known = fresh, fresh.Authorities
	}
	if leaves < 85 || leaves > 125 || authorities != 3 {
		t.Errorf("got %d certificates and %d authorities in 20 years, want one every 60 to 80 days and every 9 years", leaves, authorities)
	}
}

func equal(a, b credentials) bool {
	return bytes.Equal(a.Authorities, b.Authorities) && bytes.Equal(a.AuthorityKey, b.AuthorityKey) &&
		bytes.Equal(a.Certificate, b.Certificate) && bytes.Equal(a.Key, b.Key)
}

func TestWhatCannotBeUsedIsMadeAgain(t *testing.T) {
	now := time.Now()
	good, _, err := renew(credentials{}, host, now)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := renew(credentials{}, host, now)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*credentials){
		"no key":                      func(c *credentials) { c.Key = nil },
		"the key of another":          func(c *credentials) { c.Key = other.Key },
		"an authority of another":     func(c *credentials) { c.Authorities = other.Authorities },
		"an authority's key of other": func(c *credentials) { c.AuthorityKey = other.AuthorityKey },
		"rubbish":                     func(c *credentials) { c.Authorities, c.AuthorityKey = []byte("-"), []byte("-") },
	}
	for name, spoil := range tests {
		c := good
		spoil(&c)
		fresh, changed, err := renew(c, host, now)
		if err != nil || !changed {
			t.Errorf("%s: changed %v, error %v; want new ones", name, changed, err)
			continue
		}
		if err := verify(t, fresh, fresh.Authorities, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if fresh, changed, err := renew(good, "another.host.svc", now); err != nil || !changed || bytes.Equal(fresh.Certificate, good.Certificate) {
		t.Errorf("for another host: changed %v, error %v, want another certificate", changed, err)
	}
}
