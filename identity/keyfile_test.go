package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
)

func TestAKeyFileIsMadeOnceForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "issuer.pem")
	key, err := identity.LoadOrCreateKey(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	again, err := identity.LoadOrCreateKey(path)
	require.NoError(t, err)
	require.True(t, key.Equal(again))

	public, err := identity.LoadPublicKey(path)
	require.NoError(t, err)
	require.True(t, public.Equal(key.Public()))

	text, err := identity.MarshalPublicKey(public)
	require.NoError(t, err)
	publicPath := filepath.Join(t.TempDir(), "public.pem")
	require.NoError(t, os.WriteFile(publicPath, text, 0o600))
	public, err = identity.LoadPublicKey(publicPath)
	require.NoError(t, err)
	require.True(t, public.Equal(key.Public()))
	_, err = identity.LoadOrCreateKey(publicPath)
	require.ErrorContains(t, err, "no private key", "a file that is no key is not replaced")
}

func TestOtherKeyFilesAreRefused(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ecPrivate, err := x509.MarshalPKCS8PrivateKey(ec)
	require.NoError(t, err)
	ecPublic, err := x509.MarshalPKIXPublicKey(ec.Public())
	require.NoError(t, err)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"an empty file":           nil,
		"text":                    []byte("hello"),
		"bytes of a key, no PEM":  ed,
		"another kind of key":     pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: ecPrivate}),
		"another public key":      pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: ecPublic}),
		"garbage in a block":      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"garbage in a public one": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")}),
	} {
		path := filepath.Join(t.TempDir(), "key.pem")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err := identity.LoadOrCreateKey(path)
		require.ErrorContains(t, err, path, name)
		_, err = identity.LoadPublicKey(path)
		require.ErrorContains(t, err, path, name)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(data), string(kept), name)
	}
	_, err = identity.LoadPublicKey(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
