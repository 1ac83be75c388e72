package runtoken

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/agentprocess-temporal/server/internal/keyring"
)

// Claims is what a token says: that one attempt at one step was claimed.
type Claims struct {
	// Org, RunID and StepID are 1 to 255 bytes each.
	Org, RunID, StepID string
	// Number counts the claims of the step's run. It is not negative.
	Number int64
}

// MaxBytes bounds the text of a token; Parse reads nothing longer.
const MaxBytes = 1024

const (
	purpose  = "claim-token"
	version  = 1
	maxField = 255
)

// encoding is strict: with the comparison in Parse, one token has one spelling.
var encoding = base64.RawURLEncoding.Strict()

// Mint signs claims with the key kid, current or retired. The same claims and
// key always give the same token. It fails when ring does not hold kid, or a
// claim is out of its bounds.
func Mint(ring *keyring.Ring, kid string, c Claims) (string, error) {
	if !fits(c.Org) || !fits(c.RunID) || !fits(c.StepID) || c.Number < 0 {
		return "", errors.New("claim token: a claim is out of bounds")
	}
	body := encode(kid, c)
	mac, ok := ring.SignWith(kid, purpose, message(c.Org, body))
	if !ok {
		return "", fmt.Errorf("claim token: no key %q", kid)
	}
	return encoding.EncodeToString(append(body, mac...)), nil
}

// Parse reads a token that this server made for the organization org, and the
// id of the key that signed it. Anything else is false: another spelling, a
// removed key, a token of another organization.
func Parse(ring *keyring.Ring, org, token string) (c Claims, kid string, ok bool) {
	if len(token) > MaxBytes {
		return Claims{}, "", false
	}
	raw, err := encoding.DecodeString(token)
	if err != nil || len(raw) < keyring.MACBytes {
		return Claims{}, "", false
	}
	body, mac := raw[:len(raw)-keyring.MACBytes], raw[len(raw)-keyring.MACBytes:]
	kid, c, ok = decode(body)
	if !ok || !ring.Verify(kid, purpose, message(org, body), mac) {
		return Claims{}, "", false
	}
	// The decoder skips line ends inside the text, and a varint can be padded.
	c.Org = org
	if encoding.EncodeToString(raw) != token || !bytes.Equal(encode(kid, c), body) {
		return Claims{}, "", false
	}
	return c, kid, true
}

func fits(s string) bool { return len(s) > 0 && len(s) <= maxField }

// encode leaves the organization out: it is signed, not shown.
func encode(kid string, c Claims) []byte {
	b := make([]byte, 0, 128)
	b = append(b, version)
	b = appendField(b, kid)
	b = appendField(b, c.RunID)
	b = appendField(b, c.StepID)
	return binary.AppendUvarint(b, uint64(c.Number))
}

func decode(b []byte) (kid string, c Claims, ok bool) {
	if len(b) == 0 || b[0] != version {
		return "", Claims{}, false
	}
	b = b[1:]
	for _, field := range []*string{&kid, &c.RunID, &c.StepID} {
		if len(b) == 0 || b[0] == 0 || len(b) < 1+int(b[0]) {
			return "", Claims{}, false
		}
		*field, b = string(b[1:1+int(b[0])]), b[1+int(b[0]):]
	}
	n, used := binary.Uvarint(b)
	if used != len(b) || used <= 0 || n > 1<<63-1 {
		return "", Claims{}, false
	}
	c.Number = int64(n)
	return kid, c, true
}

// message is what is signed: the organization in front, with its length.
func message(org string, body []byte) []byte {
	m := make([]byte, 0, binary.MaxVarintLen64+len(org)+len(body))
	m = binary.AppendUvarint(m, uint64(len(org)))
	m = append(m, org...)
	return append(m, body...)
}

// appendField writes a length byte and s, which is at most 255 bytes long.
func appendField(b []byte, s string) []byte {
	b = append(b, byte(len(s)))
	return append(b, s...)
}
