package identity

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
)

// masterBytes is the length of a master key: the security level of SHA-256 and Ed25519.
const masterBytes = 32

// Master is the key that all identities of an installation derive from. It prints as a
// placeholder, never as the key.
type Master struct {
	key [masterBytes]byte
	set bool
}

// NewMaster makes a random master key.
func NewMaster() (Master, error) {
	master := Master{set: true}
	if _, err := rand.Read(master.key[:]); err != nil {
		return Master{}, fmt.Errorf("make a master key: %w", err)
	}
	return master, nil
}

// ParseMaster reads the text form that Text gives. Its errors never repeat the text.
func ParseMaster(text string) (Master, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Master{}, fmt.Errorf("the master key is not base64; make a new one or restore the Secret that holds it")
	}
	if len(key) != masterBytes {
		return Master{}, fmt.Errorf("the master key has %d bytes, want %d; make a new one or restore the Secret that holds it",
			len(key), masterBytes)
	}
	master := Master{set: true}
	copy(master.key[:], key)
	return master, nil
}

// Text is the key in base64, for the Secret that keeps it.
func (m Master) Text() string { return base64.StdEncoding.EncodeToString(m.key[:]) }

// String hides the key from logs.
func (Master) String() string { return "master key (hidden)" }

// GoString hides the key from %#v.
func (m Master) GoString() string { return m.String() }
