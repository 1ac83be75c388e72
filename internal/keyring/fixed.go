package keyring

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/agentprocess-temporal/server/internal/secretfile"
)

// Fixed is a secret that never rotates, for what must come out the same for
// ever: the id of a run from its request. It signs nothing a caller presents,
// so there is nothing that rotation would revoke. It never prints its bytes.
type Fixed []byte

// ParseFixed reads a fixed secret, at least MinKeyBytes in standard base64.
func ParseFixed(text string) (Fixed, error) {
	key, err := decode(strings.TrimSpace(text))
	if err != nil {
		return nil, errors.New("fixed secret: not standard base64")
	}
	if len(key) < MinKeyBytes {
		return nil, fmt.Errorf("fixed secret: %d bytes, at least %d are needed", len(key), MinKeyBytes)
	}
	return key, nil
}

// LoadOrCreateFixed reads a fixed secret from a file; where there is no such
// file it writes one with a fresh secret, readable by its owner only.
func LoadOrCreateFixed(path string) (Fixed, error) {
	data, err := secretfile.Ensure(path, func() ([]byte, error) {
		return []byte(Generate() + "\n"), nil
	})
	if err != nil {
		return nil, err
	}
	f, err := ParseFixed(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Format prints a placeholder under every verb.
func (Fixed) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[secret]") }

// LogValue is a placeholder, for slog.
func (Fixed) LogValue() slog.Value { return slog.StringValue("[secret]") }

// LoadFixed reads a fixed secret from a file.
func LoadFixed(path string) (Fixed, error) {
	data, err := secretfile.Read(path)
	if err != nil {
		return nil, err
	}
	f, err := ParseFixed(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}
