package keyring

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"sync"
)

// MinKeyBytes is the least length of a key: that of the hash it is used with.
const MinKeyBytes = sha256.Size

// MACBytes is the length of every signature.
const MACBytes = sha256.Size

// MaxIDBytes bounds a key id, which travels in everything the key signs.
const MaxIDBytes = 32

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Ring is a set of keys by id. It is safe for concurrent use and never prints
// its keys.
type Ring struct {
	current string
	keys    map[string][]byte
	// derived caches the key of each (id, purpose). Purposes are constants of
	// the program, so it stays small.
	derived sync.Map
}

type use struct{ kid, purpose string }

// New makes a ring that signs with the key current and verifies with all of
// keys. Ids are 1 to 32 letters, digits, '_' or '-'; keys are at least
// MinKeyBytes long and differ from each other. It reports every problem at once.
func New(current string, keys map[string][]byte) (*Ring, error) {
	r := &Ring{current: current, keys: make(map[string][]byte, len(keys))}
	var problems []error
	owner := make(map[string]string, len(keys))
	for id, key := range keys {
		if !idPattern.MatchString(id) {
			// What is not an id may be a key in the wrong place.
			problems = append(problems, errors.New("a key id is 1 to 32 letters, digits, '_' or '-'"))
			continue
		}
		if len(key) < MinKeyBytes {
			problems = append(problems, fmt.Errorf("key %q: %d bytes, at least %d are needed", id, len(key), MinKeyBytes))
		}
		if other, taken := owner[string(key)]; taken {
			problems = append(problems, fmt.Errorf("keys %q and %q are the same", other, id))
		}
		owner[string(key)] = id
		r.keys[id] = append([]byte(nil), key...)
	}
	if _, ok := keys[current]; !ok {
		problems = append(problems, errors.New("the current key is not among the keys"))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("keyring: %w", errors.Join(problems...))
	}
	return r, nil
}

// Current returns the id of the key that signs.
func (r *Ring) Current() string { return r.current }

// Has reports whether the ring holds the key kid, current or retired.
func (r *Ring) Has(kid string) bool {
	_, ok := r.keys[kid]
	return ok
}

// Sign signs msg for a purpose with the current key.
func (r *Ring) Sign(purpose string, msg []byte) (kid string, mac []byte) {
	mac, _ = r.SignWith(r.current, purpose, msg)
	return r.current, mac
}

// SignWith signs msg for a purpose with the key kid, which may be retired: a
// replay is signed as its first answer was. It is false when the ring does not
// hold that key.
func (r *Ring) SignWith(kid, purpose string, msg []byte) (mac []byte, ok bool) {
	key, ok := r.subkey(kid, purpose)
	if !ok {
		return nil, false
	}
	h := hmac.New(sha256.New, key)
	h.Write(msg)
	return h.Sum(nil), true
}

// Verify reports whether mac is what the key kid signs msg with for a purpose.
// It compares in constant time.
func (r *Ring) Verify(kid, purpose string, msg, mac []byte) bool {
	want, ok := r.SignWith(kid, purpose, msg)
	return ok && hmac.Equal(want, mac)
}

// subkey derives the key of one purpose, so that uses cannot be exchanged
// whatever their messages look like.
func (r *Ring) subkey(kid, purpose string) ([]byte, bool) {
	master, ok := r.keys[kid]
	if !ok {
		return nil, false
	}
	at := use{kid, purpose}
	if key, ok := r.derived.Load(at); ok {
		return key.([]byte), true
	}
	key := derive(master, purpose)
	r.derived.Store(at, key)
	return key, true
}

func derive(master []byte, purpose string) []byte {
	key, err := hkdf.Key(sha256.New, master, nil, "agentprocess/1 "+purpose, sha256.Size)
	if err != nil {
		// Only a length beyond 255 hashes, or a key too short in FIPS mode:
		// New has ruled out both.
		panic("keyring: " + err.Error())
	}
	return key
}

// String names the current key and none of its bytes.
func (r *Ring) String() string {
	return fmt.Sprintf("keyring(%d keys, %s signs)", len(r.keys), r.current)
}

// GoString is String, so that %#v shows no key either.
func (r *Ring) GoString() string { return r.String() }

// LogValue is String, for slog.
func (r *Ring) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Format prints a placeholder under every verb.
func (r *Ring) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, r.String()) }
