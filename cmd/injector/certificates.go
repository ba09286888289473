package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// credentials are what the webhooks are served with, each as PEM: the keys of a Secret of type kubernetes.io/tls, and
// the authority that has signed.
type credentials struct {
	Authorities  []byte // the one in use first, then those before it that count still
	AuthorityKey []byte
	Certificate  []byte
	Key          []byte
}

// How long certificates count, and how long before their end they are replaced. An authority is replaced long before
// any certificate that it could sign would outlive it, and is told to the API server long before it signs.
const (
	authorityLife  = 10 * 365 * 24 * time.Hour
	authorityRenew = 365 * 24 * time.Hour
	leafLife       = 90 * 24 * time.Hour
	leafRenew      = 30 * 24 * time.Hour
	clockSkew      = time.Hour // between our clock and the API server's
)

// renew gives credentials for a host that are good for a while, the old ones where they are so themselves; changed says
// whether they differ. What cannot be read counts for nothing.
func renew(old credentials, host string, now time.Time) (fresh credentials, changed bool, err error) {
	fresh = old
	authorities, key := readAuthority(old)
	if key == nil || !authorities[0].NotAfter.After(now.Add(authorityRenew)) {
		var authority *x509.Certificate
		if authority, key, err = newAuthority(now); err != nil {
			return old, false, err
		}
		authorities = append([]*x509.Certificate{authority}, living(authorities, now)...)
		fresh.Authorities = encodeCertificates(authorities)
		if fresh.AuthorityKey, err = encodeKey(key); err != nil {
			return old, false, err
		}
		changed = true
	}
	if goodLeaf(fresh, authorities, host, now) {
		return fresh, changed, nil
	}
	fresh.Certificate, fresh.Key, err = newLeaf(authorities[0], key, host, now)
	return fresh, true, err
}

// readAuthority gives the authorities, and the key of the first, nil if it has none.
func readAuthority(c credentials) ([]*x509.Certificate, *ecdsa.PrivateKey) {
	authorities, err := parseCertificates(c.Authorities)
	if err != nil || len(authorities) == 0 {
		return nil, nil
	}
	key, err := parseKey(c.AuthorityKey)
	if err != nil || !key.PublicKey.Equal(authorities[0].PublicKey) {
		return authorities, nil
	}
	return authorities, key
}

func living(certificates []*x509.Certificate, now time.Time) []*x509.Certificate {
	return slices.DeleteFunc(certificates, func(c *x509.Certificate) bool { return !c.NotAfter.After(now) })
}

// goodLeaf says that the certificate needs no replacement yet.
func goodLeaf(c credentials, authorities []*x509.Certificate, host string, now time.Time) bool {
	pair, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return false
	}
	roots := x509.NewCertPool()
	for _, a := range authorities {
		roots.AddCert(a)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now.Add(leafRenew)})
	return err == nil
}

func newAuthority(now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the key of an authority: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "graylane injector " + now.UTC().Format(time.DateOnly)},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(authorityLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	certificate, err := sign(template, template, &key.PublicKey, key)
	return certificate, key, err
}

func newLeaf(authority *x509.Certificate, signer *ecdsa.PrivateKey, host string, now time.Time) (certificate, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	leaf, err := sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "graylane injector"}, // a host name may be too long for this
		DNSNames:    []string{host},
		NotBefore:   now.Add(-clockSkew),
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	return encodeCertificates([]*x509.Certificate{leaf}), keyPEM, err
}

// sign gives the certificate a number of its own: two with one number and one signer are refused.
func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, signer *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("number a certificate: %w", err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	return x509.ParseCertificate(der)
}

var errNoKey = errors.New("no private key of the kind that we make")

func parseKey(text []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errNoKey
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	if own, ok := key.(*ecdsa.PrivateKey); ok {
		return own, nil
	}
	return nil, errNoKey
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, certificate)
	}
}

func encodeCertificates(all []*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, certificate := range all {
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}))
	}
	return text.Bytes()
}
