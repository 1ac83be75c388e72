package payloadcodec

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// KeyBytes is the length of every key: AES-256.
const KeyBytes = 32

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Keys are encryption keys by id: one encrypts, all decrypt. They are safe for
// concurrent use and never print themselves.
type Keys struct {
	current string
	// ciphers draw a random nonce for each message and put it in front.
	ciphers map[string]cipher.AEAD
}

// ParseKeys reads keys from configuration text: entries `id:key`, the key
// [KeyBytes] in standard base64, separated by commas or line ends. The first one
// encrypts, all decrypt. Ids are 1 to 32 letters, digits, '_' or '-'; no id and
// no key comes twice. The error has every problem at once, and names an entry by
// its place, never by what it holds.
func ParseKeys(text string) (*Keys, error) {
	k := &Keys{ciphers: make(map[string]cipher.AEAD)}
	seen := make(map[string]bool)
	var problems []error
	n := 0
	for entry := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == '\n' }) {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		n++
		if err := k.add(entry, seen); err != nil {
			problems = append(problems, fmt.Errorf("payload keys: entry %d: %w", n, err))
		}
	}
	if n == 0 {
		return nil, errors.New("payload keys: none; expected id:key entries, the key that encrypts first")
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return k, nil
}

// add takes one entry; seen are the keys before it.
func (k *Keys) add(entry string, seen map[string]bool) error {
	id, encoded, found := strings.Cut(entry, ":")
	if !found || !idPattern.MatchString(id) {
		return errors.New("expected id:key, the id 1 to 32 letters, digits, '_' or '-'")
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		// Not the decoder's own error, which quotes positions of a secret.
		return errors.New("the key is not standard base64")
	}
	if len(key) != KeyBytes {
		return fmt.Errorf("the key has %d bytes, exactly %d are needed", len(key), KeyBytes)
	}
	if _, taken := k.ciphers[id]; taken {
		return errors.New("the id of an earlier entry")
	}
	if seen[string(key)] {
		return errors.New("the key of an earlier entry")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	if k.current == "" {
		k.current = id
	}
	k.ciphers[id] = aead
	seen[string(key)] = true
	return nil
}

// Current returns the id of the key that encrypts.
func (k *Keys) Current() string { return k.current }

// String names the current key and no key's bytes.
func (k Keys) String() string {
	return fmt.Sprintf("payload keys(%d, %s encrypts)", len(k.ciphers), k.current)
}

// Format prints String under every verb: by default, %d and %x would walk
// through to the keys.
func (k Keys) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, k.String()) }

// LogValue is String, for slog.
func (k Keys) LogValue() slog.Value { return slog.StringValue(k.String()) }
