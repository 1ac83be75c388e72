package access

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity/audit"
	"github.com/agentprocess-temporal/server/identity/idptest"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// log reads the audit log as the operator does.
func (w world) log(query string) []audit.Entry {
	w.t.Helper()
	res, text := w.http(w.Token(Boss), "GET", "/api/audit?"+query, "")
	require.Equal(w.t, 200, res.StatusCode, text)
	var page struct {
		Data struct{ Items []audit.Entry }
	}
	require.NoError(w.t, json.Unmarshal([]byte(text), &page))
	return page.Data.Items
}

// short is an entry without what differs each time.
type short struct{ Who, Client, For, Action, Result string }

func shorts(entries []audit.Entry) (out []short) {
	for _, e := range entries {
		out = append(out, short{e.Kind + ":" + e.Caller, e.Client, e.OnBehalfOf, e.Action, e.Result})
	}
	return out
}

func TestEveryWriteAndEveryRefusalForIdentityIsLogged(t *testing.T) {
	w := start(t)
	id := w.startRun()
	claim := Args{"runId": id, "stepId": "screen", "requestId": ID()}
	token := Must[run.ClaimView](w.Server, A1, "claim", claim).Token
	Must[run.ClaimView](w.Server, A1, "claim", claim)
	Must[run.View](w.Server, A1, "get_run", Args{"runId": id})
	_ = w.Refused(run.NotAccepted, A1, "submit", Args{"token": token, "output": Args{"x": 1}, "summary": "Secret.", "requestId": ID()})
	Must[run.View](w.Server, A1, "submit", Args{"token": token, "output": Args{}, "summary": "Secret.", "requestId": ID()})
	item := w.item(id)
	mcp := w.with(w.TokenWith(idptest.Claims{"org": "acme", "azp": "some-mcp-client", "sub": "u", "email": "mira@example.com"}))
	require.Equal(t, "forbidden", outcome(w.call(mcp, "decide", decideArgs(id, item, "approved"))))
	require.Equal(t, "stale", outcome(w.call(w.with(w.Token(Mira)), "decide", Args{
		"runId": id, "workItemId": item.ID, "snapshot": "old", "decision": "approved", "requestId": ID(),
	})))
	_ = w.Refused(run.Forbidden, Mira, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})
	decide := decideArgs(id, item, "approved")
	Must[run.View](w.Server, Mira, "decide", decide)

	entries := w.log("run=" + id)
	agent := entries[5].Caller
	require.Regexp(t, `^some-mcp-client\.`, agent)
	require.Equal(t, []short{
		{"person:mira@example.com", "web", "", "start_run", "ok"},
		{"agent:a1", "a1", "", "claim", "ok"},
		{"agent:a1", "a1", "", "claim", "replayed"},
		{"agent:a1", "a1", "", "submit", "not_accepted"},
		{"agent:a1", "a1", "", "submit", "ok"},
		{"agent:" + agent, "some-mcp-client", "mira@example.com", "decide", "forbidden"},
		{"person:mira@example.com", "web", "", "cancel", "forbidden"},
		{"person:mira@example.com", "web", "", "decide", "ok"},
	}, shorts(entries))
	require.Equal(t, decide["requestId"], entries[7].RequestID)
	all, err := json.Marshal(w.log(""))
	require.NoError(t, err)
	require.NotContains(t, string(all), "Secret", "no business data")
	require.NotContains(t, string(all), token, "no tokens")

	require.Equal(t, []short{
		{"person:ops@example.com", "web", "", "import_process", "begun"},
		{"person:ops@example.com", "web", "", "import_process", "ok"},
		{"person:ops@example.com", "web", "", "bind_roles", "begun"},
		{"person:ops@example.com", "web", "", "bind_roles", "ok"},
		{"person:ops@example.com", "web", "", "publish_process", "begun"},
		{"person:ops@example.com", "web", "", "publish_process", "ok"},
	}, shorts(w.log("caller=ops@example.com")), "the catalog's writes, and no reads")

	w.http(w.Token(Mira), "GET", "/api/audit", "")
	w.http(w.Token(A1), "GET", "/api/processes", "")
	require.Equal(t, []short{{"person:mira@example.com", "web", "", "read_audit", "forbidden"}}, shorts(w.log("action=read_audit")))
	require.Equal(t, []short{{"agent:a1", "a1", "", "list_catalog", "forbidden"}}, shorts(w.log("action=list_catalog")))

	w.http("nonsense", "GET", "/api/processes", "")
	nobody, err := audit.List(t.Context(), w.Pool(), audit.Query{})
	require.NoError(t, err)
	require.Len(t, nobody, 1)
	require.Equal(t, "127.0.0.1 GET /api/processes invalid_token", nobody[0].Remote+" "+nobody[0].Action+" "+nobody[0].Result)
}

func TestAnUploadIsLogged(t *testing.T) {
	w := start(t)
	args := uploadArgs()
	Must[any](w.Server, A1, "upload", args)
	got := w.log("action=upload")
	require.Equal(t, []short{{"agent:a1", "a1", "", "upload", "ok"}}, shorts(got))
	require.Equal(t, args["requestId"], got[0].RequestID)
}
