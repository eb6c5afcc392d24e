package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// Bundle holds the key and the certificates with which the operator or an agent of a run proves its identity and
// verifies its peers. It contains a private key: keep it in a Secret or in a file of mode 0600. Formatting it does
// not reveal the key.
type Bundle struct {
	CAPEM          string `json:"ca"`
	CertificatePEM string `json:"certificate"`
	KeyPEM         string `json:"key"`
}

// String implements fmt.Stringer without revealing the key, so that logs do not contain it.
func (Bundle) String() string { return "identity bundle (hidden)" }

// GoString implements fmt.GoStringer without revealing the key, so that %#v does not print it.
func (b Bundle) GoString() string { return b.String() }

// Peer returns the peer that the bundle identifies.
func (b Bundle) Peer() (Peer, error) {
	pair, err := tls.X509KeyPair([]byte(b.CertificatePEM), []byte(b.KeyPEM))
	if err != nil {
		return Peer{}, fmt.Errorf("read an identity: %w", err)
	}
	return peerOf(pair.Leaf)
}

// ServerTLS returns the TLS configuration of an agent. It accepts only the given peers, and only with a certificate
// that the run's CA has signed. The server decides what each peer may call (see PeerRole).
func (b Bundle) ServerTLS(accept ...Peer) (*tls.Config, error) {
	if len(accept) == 0 {
		return nil, errors.New("configure an agent's TLS: no accepted peer configured")
	}
	config, pool, err := b.config(accept)
	if err != nil {
		return nil, fmt.Errorf("configure an agent's TLS: %w", err)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs = pool
	return config, nil
}

// ClientTLS returns the TLS configuration for dialing the agent of exactly one client.
func (b Bundle) ClientTLS(expect Peer) (*tls.Config, error) {
	config, pool, err := b.config([]Peer{expect})
	if err != nil {
		return nil, fmt.Errorf("configure TLS to %s: %w", expect, err)
	}
	config.RootCAs = pool
	config.ServerName = agentName
	return config, nil
}

func (b Bundle) config(accept []Peer) (*tls.Config, *x509.CertPool, error) {
	for _, peer := range accept {
		if err := peer.validate(); err != nil {
			return nil, nil, err
		}
	}
	pair, err := tls.X509KeyPair([]byte(b.CertificatePEM), []byte(b.KeyPEM))
	if err != nil {
		return nil, nil, fmt.Errorf("read an identity: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(b.CAPEM)) {
		return nil, nil, errors.New("read an identity: it has no CA certificate")
	}
	accept = slices.Clone(accept)
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		// Do not resume sessions, so that both peers authenticate on every connection.
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			peer, err := PeerRole(state)
			if err != nil {
				return err
			}
			if !slices.Contains(accept, peer) {
				return fmt.Errorf("the peer is %s, want %s: %w", peer, list(accept), ErrWrongPeer)
			}
			return nil
		},
	}, pool, nil
}

func list(peers []Peer) string {
	text := ""
	for i, peer := range peers {
		if i > 0 {
			text += " or "
		}
		text += peer.String()
	}
	return text
}
