package keyring

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/agentprocess-temporal/server/internal/secretfile"
)

// Parse reads a ring from configuration text: entries `id:key`, the key in
// standard base64, separated by commas or line ends. The first one signs, all
// verify. Errors name an entry by its place, never by what it holds.
func Parse(text string) (*Ring, error) {
	var current string
	keys := make(map[string][]byte)
	var problems []error
	entries := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == '\n' })
	n := 0
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		n++
		id, encoded, found := strings.Cut(entry, ":")
		if !found || !idPattern.MatchString(id) {
			problems = append(problems, fmt.Errorf("keyring: entry %d: expected id:key", n))
			continue
		}
		key, err := decode(encoded)
		if err != nil {
			problems = append(problems, fmt.Errorf("keyring: entry %d: %w", n, err))
			continue
		}
		if _, taken := keys[id]; taken {
			problems = append(problems, fmt.Errorf("keyring: entry %d: the id of an earlier entry", n))
			continue
		}
		if current == "" {
			current = id
		}
		keys[id] = key
	}
	if n == 0 {
		return nil, errors.New("keyring: no keys; expected id:key entries, the signing key first")
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return New(current, keys)
}

// Load reads a ring from a file with the text that Parse takes.
func Load(path string) (*Ring, error) {
	data, err := secretfile.Read(path)
	if err != nil {
		return nil, err
	}
	return parseFile(path, data)
}

// LoadOrCreate is Load, and where there is no such file it writes one with a
// fresh key `k1`, readable by its owner only.
func LoadOrCreate(path string) (*Ring, error) {
	data, err := secretfile.Ensure(path, func() ([]byte, error) {
		return []byte("k1:" + Generate() + "\n"), nil
	})
	if err != nil {
		return nil, err
	}
	return parseFile(path, data)
}

func parseFile(path string, data []byte) (*Ring, error) {
	r, err := Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Generate returns a fresh random key of MinKeyBytes in the base64 that Parse
// and ParseFixed take.
func Generate() string {
	key := make([]byte, MinKeyBytes)
	rand.Read(key) // never fails: the runtime ends the program instead
	return base64.StdEncoding.EncodeToString(key)
}

// decode leaves out the decoder's own error, which quotes positions of a secret.
func decode(text string) ([]byte, error) {
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("the key is not standard base64")
	}
	return key, nil
}
