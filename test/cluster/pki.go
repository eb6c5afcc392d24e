package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"time"
)

// validity is the validity period of every certificate. No test cluster lives that long.
const validity = 365 * 24 * time.Hour

// authority signs the certificates of a cluster.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// identity is the subject of a certificate.
type identity struct {
	user   string
	groups []string
	// names and addresses are the DNS names and IP addresses of a server.
	names     []string
	addresses []netip.Addr
}

// keyPair is a certificate and its key, as PEM.
type keyPair struct {
	certificate []byte
	key         []byte
}

func newAuthority(name string, now time.Time) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, fmt.Errorf("making the key of the authority: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-24 * time.Hour), // the clock may be set back
		NotAfter:              now.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, fmt.Errorf("making the certificate of the authority: %w", err)
	}
	certificate, err := x509.ParseCertificate(signed)
	if err != nil {
		return authority{}, fmt.Errorf("reading the certificate of the authority: %w", err)
	}
	return authority{certificate: certificate, key: key}, nil
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// pair returns the authority's own certificate and key, for programs that sign certificates with it.
func (a authority) pair() (keyPair, error) {
	key, err := encodeKey(a.key)
	return keyPair{certificate: a.pem(), key: key}, err
}

// issue issues a certificate that is valid for both clients and servers.
func (a authority) issue(who identity) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("making the key of %s: %w", who.user, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, fmt.Errorf("making the serial number of %s: %w", who.user, err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: who.user, Organization: who.groups},
		NotBefore:    a.certificate.NotBefore,
		NotAfter:     a.certificate.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:     who.names,
	}
	for _, address := range who.addresses {
		template.IPAddresses = append(template.IPAddresses, net.IP(address.AsSlice()))
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("making the certificate of %s: %w", who.user, err)
	}
	encoded, err := encodeKey(key)
	return keyPair{
		certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		key:         encoded,
	}, err
}

func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
