package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"time"
)

// Margin allows for clock differences. A run's certificates become valid this long before the start of the run, and
// expire this long after the last moment at which one of its agents can be alive.
const Margin = 7 * 24 * time.Hour

// agentName is the DNS name in the certificate of every agent. Go's certificate verification requires a name that it
// can check. The name does not tell agents apart; the URI in the certificate does.
const agentName = "agent.storagebench.internal"

// Validity is the period in which a run's certificates are accepted.
type Validity struct {
	NotBefore time.Time
	NotAfter  time.Time
}

// ValidityOf returns the period in which a run's certificates are valid. It begins Margin before the start of the run
// and ends Margin after the last moment at which an agent can be alive, which is activeDeadline plus orphanTimeout
// after the start. Certificates are not rotated.
func ValidityOf(started time.Time, activeDeadline, orphanTimeout time.Duration) Validity {
	return Validity{
		NotBefore: started.Add(-Margin),
		NotAfter:  started.Add(activeDeadline + orphanTimeout + Margin),
	}
}

// Authority issues the certificates of one run.
type Authority struct {
	master   Master
	runUID   string
	validity Validity
	ca       *x509.Certificate
	key      ed25519.PrivateKey
	caPEM    string
}

// ForRun derives the authority of a run. The same arguments always yield the same bytes. Times are truncated to whole
// seconds.
func ForRun(master Master, runUID string, validity Validity) (*Authority, error) {
	if !master.set {
		return nil, errors.New("derive a run's CA: the master key is empty; create one with NewMaster")
	}
	if err := OperatorOf(runUID).validate(); err != nil {
		return nil, fmt.Errorf("derive a run's CA: %w", err)
	}
	validity.NotBefore = validity.NotBefore.UTC().Truncate(time.Second)
	validity.NotAfter = validity.NotAfter.UTC().Truncate(time.Second)
	if !validity.NotAfter.After(validity.NotBefore) {
		return nil, fmt.Errorf("derive a run's CA: certificates of run %s would expire (%s) before they become valid (%s)",
			runUID, validity.NotAfter, validity.NotBefore)
	}
	a := &Authority{master: master, runUID: runUID, validity: validity}
	derived, err := a.derive("storagebench://run/" + runUID + "/ca")
	if err != nil {
		return nil, err
	}
	template := a.template("storagebench run CA", derived)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(nil, template, template, derived.key.Public(), derived.key)
	if err != nil {
		return nil, fmt.Errorf("create the CA of run %s: %w", runUID, err)
	}
	if a.ca, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("parse the CA of run %s: %w", runUID, err)
	}
	a.key = derived.key
	a.caPEM = encode("CERTIFICATE", der)
	return a, nil
}

// Operator returns the identity that commands the run's agents.
func (a *Authority) Operator() (Bundle, error) { return a.issue(OperatorOf(a.runUID)) }

// Client returns the identity of one agent, given its target and its index in the target, counted from 0.
func (a *Authority) Client(target string, index int) (Bundle, error) {
	return a.issue(ClientOf(a.runUID, target, index))
}

func (a *Authority) issue(peer Peer) (Bundle, error) {
	if err := peer.validate(); err != nil {
		return Bundle{}, fmt.Errorf("create a certificate: %w", err)
	}
	derived, err := a.derive(peer.String())
	if err != nil {
		return Bundle{}, err
	}
	template := a.template("storagebench "+string(peer.Role), derived)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	template.URIs = []*url.URL{peer.uri()}
	if peer.Role == RoleClient {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = []string{agentName}
	}
	der, err := x509.CreateCertificate(nil, template, a.ca, derived.key.Public(), a.key)
	if err != nil {
		return Bundle{}, fmt.Errorf("create the certificate of %s: %w", peer, err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(derived.key)
	if err != nil {
		return Bundle{}, fmt.Errorf("encode the key of %s: %w", peer, err)
	}
	return Bundle{CAPEM: a.caPEM, CertificatePEM: encode("CERTIFICATE", der), KeyPEM: encode("PRIVATE KEY", key)}, nil
}

// derivation holds the values that HKDF derives for one named identity of a run.
type derivation struct {
	key    ed25519.PrivateKey
	serial *big.Int
	keyID  []byte
}

func (a *Authority) derive(name string) (derivation, error) {
	// The names of identities contain no spaces, so "key <name>" and "serial <name>" never collide.
	seed, err := hkdf.Key(sha256.New, a.master.key[:], nil, "storagebench identity v1 key "+name, ed25519.SeedSize)
	if err != nil {
		return derivation{}, fmt.Errorf("derive the key of %s: %w", name, err)
	}
	serial, err := hkdf.Key(sha256.New, a.master.key[:], nil, "storagebench identity v1 serial "+name, 16)
	if err != nil {
		return derivation{}, fmt.Errorf("derive the serial number of %s: %w", name, err)
	}
	serial[0] = serial[0]&0x7f | 0x40 // make the serial number positive and nonzero
	key := ed25519.NewKeyFromSeed(seed)
	digest := sha256.Sum256(key.Public().(ed25519.PublicKey))
	// Set the key ID explicitly, because the default of crypto/x509 changes between Go versions.
	return derivation{key: key, serial: new(big.Int).SetBytes(serial), keyID: digest[:20]}, nil
}

func (a *Authority) template(name string, derived derivation) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: derived.serial,
		Subject:      pkix.Name{CommonName: name, Organization: []string{"run " + a.runUID}},
		NotBefore:    a.validity.NotBefore,
		NotAfter:     a.validity.NotAfter,
		SubjectKeyId: derived.keyID,
	}
}

func encode(kind string, der []byte) string {
	var out bytes.Buffer
	// Writing to a bytes.Buffer never fails.
	_ = pem.Encode(&out, &pem.Block{Type: kind, Bytes: der})
	return out.String()
}
