package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// keeper keeps the certificate of the webhooks: in a Secret that all replicas share, and its authority in the
// configurations that tell the API server of the webhooks.
type keeper struct {
	cluster   *cluster
	namespace string
	secret    string // name of the Secret, which the installation has made
	webhooks  string // name of both configurations
	host      string // that the API server calls
	now       func() time.Time
	log       *slog.Logger

	serving atomic.Pointer[tls.Certificate]
}

// The keys of the Secret.
const (
	keyAuthorities  = "ca.crt"
	keyAuthorityKey = "ca.key"
)

// How often the keeper looks. Until then a replica serves what another has replaced, which counts for weeks still; and a
// configuration that was applied again lacks its authority.
const (
	keepInterval = time.Minute
	keepRetry    = 5 * time.Second
)

var errNoCertificate = errors.New("there is no certificate yet")

// certificate is for tls.Config.
func (k *keeper) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.serving.Load(); c != nil {
		return c, nil
	}
	return nil, errNoCertificate
}

// run keeps the certificate until ctx ends.
func (k *keeper) run(ctx context.Context) {
	for {
		wait := keepInterval
		if err := k.sync(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("cannot keep the certificate", "error", err, "retry", keepRetry)
			wait = keepRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// sync makes the Secret good, the configurations agree with it, and then serves what it has: in this order, so that the
// API server knows the authority before it meets the certificate.
func (k *keeper) sync(ctx context.Context) error {
	current, err := k.agree(ctx)
	if err != nil {
		return err
	}
	for _, kind := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		if err := k.tell(ctx, kind, current.Authorities); err != nil {
			return err
		}
	}
	return k.serve(current)
}

// agree gives the credentials that are in the Secret, after it has renewed them there. If another replica was faster,
// its credentials count.
func (k *keeper) agree(ctx context.Context) (credentials, error) {
	path := "/api/v1/namespaces/" + k.namespace + "/secrets/" + k.secret
	for {
		var secret corev1.Secret
		if err := k.cluster.call(ctx, http.MethodGet, path, "", nil, &secret); err != nil {
			return credentials{}, fmt.Errorf("%w (the installation makes this Secret, empty)", err)
		}
		fresh, changed, err := renew(fromSecret(secret), k.host, k.now())
		if err != nil || !changed {
			return fresh, err
		}
		secret.Data = map[string][]byte{
			keyAuthorities: fresh.Authorities, keyAuthorityKey: fresh.AuthorityKey,
			corev1.TLSCertKey: fresh.Certificate, corev1.TLSPrivateKeyKey: fresh.Key,
		}
		// The Secret goes with the version that it was read at, so a change meanwhile is a conflict.
		err = k.cluster.call(ctx, http.MethodPut, path, "application/json", secret, nil)
		if isConflict(err) {
			continue
		}
		if err == nil {
			k.log.Info("certificate made", "host", k.host)
		}
		return fresh, err
	}
}

// isConflict says that somebody else has changed the object meanwhile.
func isConflict(err error) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && status.code == http.StatusConflict
}

func fromSecret(s corev1.Secret) credentials {
	return credentials{
		Authorities: s.Data[keyAuthorities], AuthorityKey: s.Data[keyAuthorityKey],
		Certificate: s.Data[corev1.TLSCertKey], Key: s.Data[corev1.TLSPrivateKeyKey],
	}
}

// tell puts the authorities into every webhook of a configuration, where they differ. If another replica was faster, it
// looks again.
func (k *keeper) tell(ctx context.Context, kind string, authorities []byte) error {
	for {
		if err := k.tellOnce(ctx, kind, authorities); !isConflict(err) {
			return err
		}
	}
}

func (k *keeper) tellOnce(ctx context.Context, kind string, authorities []byte) error {
	path := "/apis/admissionregistration.k8s.io/v1/" + kind + "/" + k.webhooks
	// Both kinds have the same form, of which this is all that we need.
	var configuration struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Webhooks []struct {
			ClientConfig struct {
				CABundle []byte `json:"caBundle"`
			} `json:"clientConfig"`
		} `json:"webhooks"`
	}
	if err := k.cluster.call(ctx, http.MethodGet, path, "", nil, &configuration); err != nil {
		return err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	// Places in the list hold for this version of it alone: of another one, the API server says that there is a conflict.
	patch := []operation{{"replace", "/metadata/resourceVersion", configuration.Metadata.ResourceVersion}}
	for i, w := range configuration.Webhooks {
		if !bytes.Equal(w.ClientConfig.CABundle, authorities) {
			patch = append(patch, operation{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), authorities})
		}
	}
	if len(patch) == 1 {
		return nil
	}
	if err := k.cluster.call(ctx, http.MethodPatch, path, "application/json-patch+json", patch, nil); err != nil {
		return err
	}
	k.log.Info("the API server was told of the authority", "configuration", kind)
	return nil
}

func (k *keeper) serve(c credentials) error {
	pair, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return fmt.Errorf("the certificate in Secret %s/%s: %w", k.namespace, k.secret, err)
	}
	k.serving.Store(&pair)
	return nil
}
