package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
)

// Bundle is all that one part of a run needs to prove itself and to check the others. It holds a
// private key: keep it in a Secret or a file of mode 0600. It prints without the key.
type Bundle struct {
	CAPEM          string `json:"ca"`
	CertificatePEM string `json:"certificate"`
	KeyPEM         string `json:"key"`
}

// String hides the key from logs.
func (Bundle) String() string { return "identity bundle (hidden)" }

// GoString hides the key from %#v.
func (b Bundle) GoString() string { return b.String() }

// Peer is whom the bundle makes its holder.
func (b Bundle) Peer() (Peer, error) {
	pair, err := tls.X509KeyPair([]byte(b.CertificatePEM), []byte(b.KeyPEM))
	if err != nil {
		return Peer{}, fmt.Errorf("read an identity: %w", err)
	}
	return peerOf(pair.Leaf)
}

// ServerTLS is the configuration of an agent that lets exactly the accepted peers in, of those
// that the run's CA has signed. What each of them may call is the server's matter (PeerRole).
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

// ClientTLS is the configuration to dial exactly one client's agent with.
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
		return nil, nil, errors.New("read an identity: it holds no CA certificate")
	}
	accept = slices.Clone(accept)
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		// Every connection proves both ends anew.
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
