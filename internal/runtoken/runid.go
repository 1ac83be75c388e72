package runtoken

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"

	"github.com/agentprocess-temporal/server/internal/keyring"
)

// runIDBytes is 160 bits: 32 letters and digits without padding.
const runIDBytes = 20

// RunID names the run that a start with this request id makes: `r_` and 32
// lower-case letters and digits. It is the same for ever, so secret is a
// [keyring.Fixed] and not the key of the day; without it, the ids of an
// organization cannot be computed from its request ids. RunID panics when
// secret is shorter than [keyring.MinKeyBytes].
func RunID(secret []byte, org, requestID string) string {
	if len(secret) < keyring.MinKeyBytes {
		panic("runtoken: the secret of run ids is too short")
	}
	h := hmac.New(sha256.New, secret)
	// The purpose and the lengths keep other uses and other splits apart.
	msg := []byte("run-id\x00")
	for _, s := range []string{org, requestID} {
		msg = binary.AppendUvarint(msg, uint64(len(s)))
		msg = append(msg, s...)
	}
	h.Write(msg)
	sum := h.Sum(nil)[:runIDBytes]
	return "r_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum))
}
