package stack

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/keyring"
)

// What the tokens of a stack are made out by and for.
const (
	Issuer   = "agentprocess-dev"
	Audience = "agentprocess"
)

const (
	// PublicKeyFile verifies those tokens.
	PublicKeyFile = "token-key.pub.pem"
	privateFile   = "token-key.pem"
	keysFile      = "keys"
	secretFile    = "secret"

	tokensLast = 30 * 24 * time.Hour
)

// EnsureDirectory returns the directory file to use: the given one, else
// DIR/directory.yaml, written with the given content where it is missing.
func EnsureDirectory(dir, file string, content []byte) (string, error) {
	if file != "" {
		return file, nil
	}
	file = filepath.Join(dir, "directory.yaml")
	_, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		err = os.WriteFile(file, content, 0o600)
	}
	return file, err
}

// WriteConfig makes, once, the files that a server's keys are in, and returns
// a bearer token for every identity of the directory file.
func WriteConfig(dir, directory string) (map[string]string, error) {
	people, err := identity.Load(directory)
	if err != nil {
		return nil, err
	}
	if _, err := keyring.LoadOrCreate(filepath.Join(dir, keysFile)); err != nil {
		return nil, err
	}
	if _, err := keyring.LoadOrCreateFixed(filepath.Join(dir, secretFile)); err != nil {
		return nil, err
	}
	signing, err := identity.LoadOrCreateKey(filepath.Join(dir, privateFile))
	if err != nil {
		return nil, err
	}
	public, err := identity.MarshalPublicKey(signing.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, PublicKeyFile), public, 0o600); err != nil {
		return nil, err
	}
	issuer := identity.NewIssuer(signing, Issuer, Audience)
	tokens := map[string]string{}
	for _, id := range people.Identities() {
		caller, _ := people.Caller(id)
		if tokens[id], err = issuer.Issue(caller, tokensLast); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}
