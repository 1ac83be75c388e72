package identity

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/agentprocess-temporal/server/internal/secretfile"
)

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// LoadOrCreateKey reads the Ed25519 private key of a PEM file (PKCS #8). Where
// there is no such file it writes one with a fresh key, readable by its owner
// only; of several that do so at once one wins, and all return its key.
func LoadOrCreateKey(path string) (ed25519.PrivateKey, error) {
	data, err := secretfile.Ensure(path, func() ([]byte, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
	})
	if err != nil {
		return nil, err
	}
	key, err := parsePrivate(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// LoadPublicKey reads the Ed25519 public key of a PEM file: the key itself
// (PKIX), or that of the private key the file holds.
func LoadPublicKey(path string) (ed25519.PublicKey, error) {
	data, err := secretfile.Read(path)
	if err != nil {
		return nil, err
	}
	key, err := parsePublic(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// MarshalPublicKey writes a public key as the PEM that LoadPublicKey reads.
func MarshalPublicKey(key ed25519.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der}), nil
}

func parsePrivate(data []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != privateBlock {
		return nil, errors.New("no private key in PEM form")
	}
	// The parser's own error may describe the secret; ours does not.
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a PKCS #8 private key")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("not an Ed25519 key")
	}
	return key, nil
}

func parsePublic(data []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != publicBlock {
		key, err := parsePrivate(data)
		if err != nil {
			return nil, errors.New("no Ed25519 key in PEM form")
		}
		return key.Public().(ed25519.PublicKey), nil
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, errors.New("not a PKIX public key")
	}
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return nil, errors.New("not an Ed25519 key")
	}
	return key, nil
}
