package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Role is the role in a run that a certificate grants to its holder.
type Role string

const (
	// RoleOperator is the role of the operator, which conducts a run and commands every agent.
	RoleOperator Role = "operator"
	// RoleClient is the role of an agent, which runs in a client of a run.
	RoleClient Role = "client"
)

// Peer is the operator or an agent of a run, as identified by its certificate.
type Peer struct {
	RunUID string
	Role   Role
	// Target and Client identify an agent and are set only for RoleClient. Client is the index within the target,
	// counted from 0.
	Target string
	Client int
}

// ErrWrongPeer is wrapped by every error about a peer whose certificate is not accepted.
var ErrWrongPeer = errors.New("wrong peer")

// OperatorOf returns the operator of a run as a Peer.
func OperatorOf(runUID string) Peer { return Peer{RunUID: runUID, Role: RoleOperator} }

// ClientOf returns one client of a run as a Peer.
func ClientOf(runUID, target string, client int) Peer {
	return Peer{RunUID: runUID, Role: RoleClient, Target: target, Client: client}
}

// String returns the URI that identifies the peer in its certificate.
func (p Peer) String() string { return p.uri().String() }

func (p Peer) uri() *url.URL {
	path := "/" + p.RunUID + "/" + string(p.Role)
	if p.Role == RoleClient {
		path += "/" + p.Target + "/" + strconv.Itoa(p.Client)
	}
	return &url.URL{Scheme: "storagebench", Host: "run", Path: path}
}

// component matches the run UIDs and target names that are allowed in the URI of a certificate. It excludes slashes,
// escapes and look-alike characters.
var component = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

func (p Peer) validate() error {
	if !component.MatchString(p.RunUID) {
		return fmt.Errorf("run UID %q is not allowed in a certificate: use 1 to 63 letters, digits, '-', '_' or '.'", p.RunUID)
	}
	switch p.Role {
	case RoleOperator:
		if p.Target != "" || p.Client != 0 {
			return fmt.Errorf("an operator's identity must not have a target or client index (got %q, %d)", p.Target, p.Client)
		}
		return nil
	case RoleClient:
		if !component.MatchString(p.Target) {
			return fmt.Errorf("target %q is not allowed in a certificate: use 1 to 63 letters, digits, '-', '_' or '.'", p.Target)
		}
		if p.Client < 0 {
			return fmt.Errorf("client index %d is negative, want 0 or more", p.Client)
		}
		return nil
	default:
		return fmt.Errorf("role %q is neither %q nor %q", p.Role, RoleOperator, RoleClient)
	}
}

// PeerRole returns the peer on the other side of a verified connection. It returns an error unless the handshake has
// verified the certificate chain of the peer.
func PeerRole(state tls.ConnectionState) (Peer, error) {
	if len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return Peer{}, fmt.Errorf("the peer presented no certificate signed by its run's CA: %w", ErrWrongPeer)
	}
	return peerOf(state.VerifiedChains[0][0])
}

func peerOf(certificate *x509.Certificate) (Peer, error) {
	if len(certificate.URIs) != 1 {
		return Peer{}, fmt.Errorf("the peer's certificate has %d URIs, want 1: %w", len(certificate.URIs), ErrWrongPeer)
	}
	peer, err := parsePeer(certificate.URIs[0].String())
	if err != nil {
		return Peer{}, fmt.Errorf("read the peer's certificate: %w: %w", err, ErrWrongPeer)
	}
	return peer, nil
}

// parsePeer parses the output of Peer.String. It rejects any text that String would not return.
func parsePeer(text string) (Peer, error) {
	parts := strings.Split(strings.TrimPrefix(text, "storagebench://run/"), "/")
	var peer Peer
	switch {
	case len(parts) == 2:
		peer = Peer{RunUID: parts[0], Role: Role(parts[1])}
	case len(parts) == 4:
		index, err := strconv.Atoi(parts[3])
		if err != nil {
			return Peer{}, fmt.Errorf("%q does not end in a client index: %w", text, err)
		}
		peer = Peer{RunUID: parts[0], Role: Role(parts[1]), Target: parts[2], Client: index}
	default:
		return Peer{}, fmt.Errorf("%q is not the identity of an agent or operator", text)
	}
	if err := peer.validate(); err != nil {
		return Peer{}, err
	}
	if peer.String() != text {
		return Peer{}, fmt.Errorf("%q is not the identity of an agent or operator", text)
	}
	return peer, nil
}
