package main

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// folder serves the certificate that others keep in a folder as tls.crt and tls.key, as cert-manager's Secret is mounted.
type folder struct {
	dir string
	now func() time.Time

	mu   sync.Mutex
	read time.Time
	pair *tls.Certificate
}

// rereadAfter is how old a certificate in use may be; a handshake that finds it older reads the folder again.
const rereadAfter = time.Minute

// certificate is for tls.Config. While the folder cannot be read, what was read before is served.
func (f *folder) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pair != nil && f.now().Sub(f.read) < rereadAfter {
		return f.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(f.dir, "tls.crt"), filepath.Join(f.dir, "tls.key"))
	if err == nil {
		f.pair, f.read = &pair, f.now()
	}
	if f.pair == nil {
		return nil, fmt.Errorf("%w: %w", errNoCertificate, err)
	}
	return f.pair, nil
}
