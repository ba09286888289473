package pods

import (
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"graylane/test/harness"
)

// authority signs the certificates of one test.
type authority struct {
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	pool   *x509.CertPool
	hidden []tls.EncryptedClientHelloKey // of all servers
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	harness.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	harness.Must(t, err)
	cert, err := x509.ParseCertificate(der)
	harness.Must(t, err)
	a := &authority{key: key, cert: cert, pool: x509.NewCertPool()}
	a.pool.AddCert(cert)
	return a
}

// sign gives a certificate for a name, good for both ends.
func (a *authority) sign(t *testing.T, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	harness.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name, "*." + name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	harness.Must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// greet is a TLS server that wants a certificate, and says who it is and who calls.
func (a *authority) greet(t *testing.T, p *Pod, port int, name string) {
	t.Helper()
	config := &tls.Config{
		Certificates: []tls.Certificate{a.sign(t, "users")}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool,
		EncryptedClientHelloKeys: a.hidden,
	}
	serveIn(t, p.Space, fmt.Sprintf(":%d", port), func(raw *net.TCPConn) {
		conn := tls.Server(raw, config)
		defer conn.Close()
		if err := conn.Handshake(); err != nil {
			return // the caller tells
		}
		fmt.Fprintf(conn, "%s greets %s", name, conn.ConnectionState().PeerCertificates[0].Subject.CommonName)
	})
}

// call gives what the server says to a pod's app.
func (a *authority) call(t *testing.T, p *Pod, addr, serverName string) string {
	t.Helper()
	// Without a name there is none to check: the certificate counts, not whose it is.
	return a.callBy(t, p, addr, &tls.Config{ServerName: serverName, InsecureSkipVerify: serverName == ""})
}

// callBy is call in a way of choice.
func (a *authority) callBy(t *testing.T, p *Pod, addr string, way *tls.Config) string {
	t.Helper()
	raw, err := p.Dial(t, AppUser, addr)
	if err != nil {
		return err.Error()
	}
	way.RootCAs, way.Certificates = a.pool, []tls.Certificate{a.sign(t, p.Name)}
	conn := tls.Client(raw, way)
	defer raw.Close()
	said, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(said)
}

func TestTLSIsUntouchedAndGoesToTheVersionOfThePod(t *testing.T) {
	c := NewCluster(t)
	base := c.Start(t, "orders-base", Config{Service: "orders", Tag: "base"})
	gray := c.Start(t, "orders-gray", Config{Service: "orders", Tag: "gray"})
	users, usersGray := c.Start(t, "users-base", Config{Service: "users", Tag: "base"}), c.Start(t, "users-gray", Config{Service: "users", Tag: "gray"})
	policy := fmt.Sprintf(`apiVersion: graylane.dev/v1
services:
  - {name: users, hosts: ["users:443"], versions: [{tag: base, endpoints: ["%s:8443"]}, {tag: gray, endpoints: ["%s:8443"]}]}
`, users.Addr, usersGray.Addr)
	c.Apply(t, policy)
	c.Service(t, usersAddr, 443, users, 8443)
	a := newAuthority(t)
	a.greet(t, users, 8443, "users-base")
	a.greet(t, usersGray, 8443, "users-gray")

	for _, call := range []struct {
		name             string
		from             *Pod
		addr, serverName string
		want             string
	}{
		{"a base pod by the service", base, usersAddr + ":443", "users", "users-base greets orders-base"},
		{"a gray pod by the service", gray, usersAddr + ":443", "users", "users-gray greets orders-gray"},
		{"a gray pod that asks for no name", gray, usersAddr + ":443", "", "users-base greets orders-gray"},
		{"a gray pod by an address of another port", gray, users.Addr + ":8443", "users", "users-base greets orders-gray"},
	} {
		if got := a.call(t, call.from, call.addr, call.serverName); got != call.want {
			t.Errorf("%s: got %q, want %q", call.name, got, call.want)
		}
	}
	harness.WaitFor(t, "the access log has the name", func() bool {
		return strings.Contains(gray.Sidecar.Log.String(), "protocol=tls service=users tag=gray")
	})
	if log := gray.Sidecar.Log.String(); !strings.Contains(log, "sni=users") {
		t.Errorf("the access log lacks the name that was asked for:\n%s", log)
	}
}

// hide makes the servers understand encrypted hellos. What is not encrypted of those that are made by the configuration has
// the public name in it (RFC 9849, section 4).
func (a *authority) hide(t *testing.T, publicName string) (configList []byte) {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	harness.Must(t, err)
	long := func(to, text []byte) []byte {
		return append(binary.BigEndian.AppendUint16(to, uint16(len(text))), text...)
	}
	// A number, the key for DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 with AES-128-GCM, names of any length, no extension.
	body := binary.BigEndian.AppendUint16([]byte{byte(len(a.hidden))}, 0x0020)
	body = long(body, key.PublicKey().Bytes())
	body = long(body, []byte{0, 1, 0, 1})
	body = append(body, 0, byte(len(publicName)))
	body = long(append(body, publicName...), nil)
	config := long(binary.BigEndian.AppendUint16(nil, 0xfe0d), body)
	a.hidden = append(a.hidden, tls.EncryptedClientHelloKey{Config: config, PrivateKey: key.Bytes()})
	return long(nil, config)
}

// C08: the name that is there to be read chooses, of a whole domain too, and nothing is done to the bytes: a server could not
// open an encrypted hello, nor end any handshake, of which one was another.
func TestNamesOfADomainAndEncryptedHellos(t *testing.T) {
	c := NewCluster(t)
	caller := c.Start(t, "orders-gray", Config{Service: "orders", Tag: "gray"})
	users, usersGray := c.Start(t, "users-base", Config{Service: "users", Tag: "base"}), c.Start(t, "users-gray", Config{Service: "users", Tag: "gray"})
	c.Apply(t, fmt.Sprintf(`apiVersion: graylane.dev/v1
services:
  - {name: users, hosts: ["*.users:443"], versions: [{tag: base, endpoints: ["%s:8443"]}, {tag: gray, endpoints: ["%s:8443"]}]}
`, users.Addr, usersGray.Addr))
	c.Service(t, usersAddr, 443, users, 8443)
	a := newAuthority(t)
	ours, strangers := a.hide(t, "public.users"), a.hide(t, "public.example")
	a.greet(t, users, 8443, "users-base")
	a.greet(t, usersGray, 8443, "users-gray")

	const gray, base = "users-gray greets orders-gray", "users-base greets orders-gray"
	for _, call := range []struct {
		name, serverName string
		encrypted        []byte
		sni, want        string
	}{
		{"a name of the domain", "eu.users", nil, "eu.users", gray},
		{"the domain itself", "users", nil, "users", base},
		{"a name below one of the domain", "a.eu.users", nil, "a.eu.users", gray},
		{"an encrypted hello with a name of the domain", "users", ours, "public.users", gray},
		{"an encrypted hello with another's name", "eu.users", strangers, "public.example", base},
	} {
		way := &tls.Config{ServerName: call.serverName, EncryptedClientHelloConfigList: call.encrypted}
		way.InsecureSkipVerify = strings.Count(call.serverName, ".") > 1 // the certificate is for one level
		if got := a.callBy(t, caller, usersAddr+":443", way); got != call.want {
			t.Errorf("%s: got %q, want %q", call.name, got, call.want)
		}
		harness.WaitFor(t, "the access log has "+call.sni, func() bool {
			return strings.Contains(caller.Sidecar.Log.String(), "sni="+call.sni+" ")
		})
	}
}
