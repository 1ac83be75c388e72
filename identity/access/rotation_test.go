package access

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/runtoken"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// again starts the server with other keys, the first of which signs.
func (w world) again(ids ...string) {
	w.t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		keys[id] = bytes.Repeat([]byte(id), 16)
	}
	ring, err := keyring.New(ids[0], keys)
	require.NoError(w.t, err)
	w.Stop()
	w.Options.Keys = ring
	w.Run()
}

func (w world) signedBy(token string) string {
	w.t.Helper()
	_, id, ok := runtoken.Parse(w.Options.Keys, "acme", token)
	require.True(w.t, ok)
	return id
}

func TestKeysOfClaimTokensAndFileLinksRotate(t *testing.T) {
	w := start(t)
	w.Publish(evidenceProcess, nil)
	w.again("k1")
	submit := func(token string) Args {
		return Args{"token": token, "output": Args{}, "summary": "Done.", "requestId": ID()}
	}
	get := func(link string) int {
		t.Helper()
		_, path, found := strings.Cut(link, "/files/")
		require.True(t, found, link)
		res, _ := w.http("", http.MethodGet, "/files/"+path, "")
		return res.StatusCode
	}
	first := Args{"runId": w.startRun(), "stepId": "screen", "requestId": ID()}
	old := w.claim(A1, w.startRun())
	answer := Must[json.RawMessage](w.Server, A1, "claim", first)
	renew := Args{"token": w.claim(A1, w.startRun()), "requestId": ID()}
	renewal := Must[json.RawMessage](w.Server, A1, "renew", renew)
	oldLink := w.fileLink()
	require.Equal(t, "k1", w.signedBy(old))

	w.again("k2", "k1") // k1 is retired
	require.Equal(t, http.StatusOK, get(oldLink))
	require.Equal(t, string(answer), string(Must[json.RawMessage](w.Server, A1, "claim", first)), "a replay is signed as its first answer was")
	require.Equal(t, string(renewal), string(Must[json.RawMessage](w.Server, A1, "renew", renew)), "of a renewal, too")
	renewed := Must[struct{ Token string }](w.Server, A1, "renew", Args{"token": old, "requestId": ID()}).Token
	require.Equal(t, "k2", w.signedBy(renewed), "what is new, the new key signs")
	newLink := w.fileLink()
	require.NotEqual(t, oldLink, newLink)
	fresh := w.claim(A1, w.startRun())

	w.again("k2") // k1 is gone
	require.Equal(t, http.StatusNotFound, get(oldLink))
	require.Equal(t, http.StatusOK, get(newLink))
	_ = w.Refused(run.Invalid, A1, "submit", submit(old))
	Must[run.View](w.Server, A1, "submit", submit(renewed))
	Must[run.View](w.Server, A1, "submit", submit(fresh))
	// The replay of a claim cannot be signed any more; it is not signed anew.
	_ = w.Refused(run.Retry, A1, "claim", first)
}
