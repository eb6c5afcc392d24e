package identity

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// masterBytes is the length of a master key. SHA-256 digests and Ed25519 seeds have the same length.
const masterBytes = 32

// Master is the key from which all identities of an installation derive. Printing it shows a placeholder, never the
// key.
type Master struct {
	key [masterBytes]byte
	set bool
}

// NewMaster generates a random master key.
func NewMaster() (Master, error) {
	master := Master{set: true}
	if _, err := rand.Read(master.key[:]); err != nil {
		return Master{}, fmt.Errorf("create a master key: %w", err)
	}
	return master, nil
}

// ParseMaster parses the output of Text. Its errors never contain the text.
func ParseMaster(text string) (Master, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Master{}, fmt.Errorf("the master key is not base64; create a new one, or restore its Secret")
	}
	if len(key) != masterBytes {
		return Master{}, fmt.Errorf("the master key has %d bytes, want %d; create a new one, or restore its Secret",
			len(key), masterBytes)
	}
	master := Master{set: true}
	copy(master.key[:], key)
	return master, nil
}

// Text returns the key in base64, for the Secret that stores it.
func (m Master) Text() string { return base64.StdEncoding.EncodeToString(m.key[:]) }

// Proof returns a string that only a holder of the key can derive from the given parts, and that reveals nothing about
// the key. The parts must not contain NUL.
func (m Master) Proof(parts ...string) (string, error) {
	if !m.set {
		return "", errors.New("create a proof: the master key is empty; create one with NewMaster")
	}
	proof, err := hkdf.Key(sha256.New, m.key[:], nil, "storagebench identity v1 proof "+strings.Join(parts, "\x00"), sha256.Size)
	if err != nil {
		return "", fmt.Errorf("create a proof: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(proof), nil
}

// String implements fmt.Stringer without revealing the key, so that logs do not contain it.
func (Master) String() string { return "master key (hidden)" }

// GoString implements fmt.GoStringer without revealing the key, so that %#v does not print it.
func (m Master) GoString() string { return m.String() }
