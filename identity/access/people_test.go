package access

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/idptest"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

// listed runs a server whose people are those of a directory file, and returns
// what writes it anew and waits until it is read.
func listed(t *testing.T, text string) (world, func(text string)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "directory.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	registry, err := identity.LoadRegistry(file)
	require.NoError(t, err)
	reload := make(chan os.Signal)
	w := world{t, Start(t, func(o *server.Options) {
		o.Directories, o.Reload = registry, reload
		o.Trust.People = identity.Policy{From: identity.Listed}
	})}
	w.Publish(process, map[string]string{"role": "finance"})
	return w, func(text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		reload <- syscall.SIGHUP // taken when the watcher is idle; the second, when it has read
		reload <- syscall.SIGHUP
	}
}

const (
	everyone = "organization: acme\nagents: [a1, a2]\ngroups: [finance]\npeople:\n" +
		"  - { email: lena@example.com }\n  - { email: ops@example.com, operator: true, publisher: true }\n"
	miraIn  = "  - { email: mira@example.com, groups: [finance] }\n"
	miraOut = "  - { email: mira@example.com }\n"
	omarIn  = "  - { email: omar@example.com, groups: [finance] }\n"
)

func TestWhoLeavesAGroupLosesItsOpenWorkAtTheNextCall(t *testing.T) {
	w, write := listed(t, everyone+miraIn+omarIn)
	id, item := w.asked()
	decided, before := w.asked()
	Must[run.View](w.Server, Mira, "decide", decideArgs(decided, before, "approved"))
	mira, omar := w.with(w.Token(Mira)), w.with(w.Token(Omar))
	items := func(a as) int {
		r := w.call(a, "get_work", Args{})
		require.True(t, r.OK)
		return len(read[struct{ Items []run.PersonWork }](t, r.Data).Items)
	}
	require.Equal(t, 1, items(mira))

	write(everyone + miraOut + omarIn)
	require.Zero(t, items(mira), "with the same token")
	require.Equal(t, "forbidden", outcome(w.call(mira, "decide", decideArgs(id, item, "approved"))))
	require.Equal(t, 1, items(omar), "the others of the group have it as before")
	require.Equal(t, "ok", outcome(w.call(mira, "get_run", Args{"runId": id})), "still of the organization")
	v := Must[run.View](w.Server, Lena, "get_run", Args{"runId": decided})
	require.Equal(t, "mira@example.com", v.Data.Steps["agree"].By, "what was decided stands")

	write(everyone + omarIn)
	res, _ := w.posted(w.Token(Mira), "get_run", Args{"runId": id})
	require.Equal(t, http.StatusUnauthorized, res.StatusCode, "who is not listed any more is nobody")
	write(everyone + miraIn + omarIn)
	require.Equal(t, "ok", outcome(w.call(mira, "decide", decideArgs(id, item, "approved"))), "and back")
}

func TestABrokenDirectoryChangesNothing(t *testing.T) {
	w, write := listed(t, everyone+miraIn)
	write("organization: acme\npeople: nobody\n")
	require.Equal(t, "ok", outcome(w.call(w.with(w.Token(Mira)), "describe", Args{})))
	write(everyone)
	res, _ := w.posted(w.Token(Mira), "describe", Args{})
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
}

func TestWhatATokenSaysOfAPersonCountsForNothingWhereTheDirectoryDoes(t *testing.T) {
	w, _ := listed(t, everyone+miraOut)
	lena := w.with(w.TokenWith(idptest.Claims{
		"org": "acme", "azp": HumanClient, "sub": "u", "email": "lena@example.com", "groups": []string{"finance"}, "scope": "operate publish",
	}))
	id, item := w.asked()
	require.Equal(t, "forbidden", outcome(w.call(lena, "decide", decideArgs(id, item, "approved"))))
	require.Equal(t, "forbidden", outcome(w.call(lena, "cancel", Args{"runId": id, "reason": "x", "requestId": ID()})))
}

func TestAGroupOfATokenLastsAsLongAsTheToken(t *testing.T) {
	w := start(t)
	claims := idptest.Claims{"org": "acme", "azp": HumanClient, "sub": "u", "email": "new@example.com", "groups": []string{"finance"}}
	old := w.with(w.TokenWith(claims))
	claims["groups"] = []string{}
	fresh := w.with(w.TokenWith(claims))
	id, item := w.asked()
	require.Equal(t, "forbidden", outcome(w.call(fresh, "decide", decideArgs(id, item, "approved"))))
	require.Equal(t, "ok", outcome(w.call(old, "decide", decideArgs(id, item, "approved"))))
}

func TestALimitedAgentFindsAndClaimsOnlyWhatItMay(t *testing.T) {
	w, write := listed(t, everyone+miraOut)
	const other = "---\nname: other\ndescription: X.\nsteps:\n  - { id: screen, agent: Screen. }\n  - { id: done, finish: done }\n---\nX.\n"
	w.Publish(other, nil)
	mine, theirs := w.startRun(), Must[run.View](w.Server, A1, "start_run", Args{"process": "other", "inputs": Args{}, "requestId": ID()}).Run.ID
	a2 := w.with(w.Token(A2))
	finds := func(args Args) (ids []string) {
		r := w.call(a2, "get_work", args)
		require.True(t, r.OK)
		for _, item := range read[struct{ Items []run.AgentWork }](t, r.Data).Items {
			ids = append(ids, item.RunID)
		}
		return ids
	}
	claim := func(runID string) string {
		return outcome(w.call(a2, "claim", Args{"runId": runID, "stepId": "screen", "requestId": ID()}))
	}
	require.ElementsMatch(t, []string{mine, theirs}, finds(Args{}))
	held := Must[run.ClaimView](w.Server, A2, "claim", Args{"runId": theirs, "stepId": "screen", "requestId": ID()}).Token

	limited := "organization: acme\nagents: [a1, { name: a2, processes: [onboarding] }]\ngroups: [finance]\npeople:\n" +
		"  - { email: mira@example.com }\n  - { email: lena@example.com }\n  - { email: ops@example.com, operator: true, publisher: true }\n"
	write(limited)
	require.Equal(t, []string{mine}, finds(Args{}))
	require.Empty(t, finds(Args{"process": "other"}))
	require.Equal(t, "ok", claim(mine))
	another := Must[run.View](w.Server, A1, "start_run", Args{"process": "other", "inputs": Args{}, "requestId": ID()}).Run.ID
	require.Equal(t, "forbidden", claim(another))
	require.Equal(t, "not_found", claim("r_none"))
	require.Equal(t, "ok", outcome(w.call(a2, "submit", Args{"token": held, "output": Args{}, "summary": "Done.", "requestId": ID()})), "what it holds it finishes")
}

func TestAnyAddressIsAPersonWherePersonsAreOpen(t *testing.T) {
	w := start(t)
	const asks = "---\nname: asks\ndescription: X.\ninputs: { who: person }\nsteps:\n  - { id: ask, person: inputs.who, approve: Agree. }\n  - { id: done, finish: done }\n---\nX.\n"
	w.Publish(asks, nil)
	args := func(who string) Args { return Args{"process": "asks", "inputs": Args{"who": who}, "requestId": ID()} }
	_ = w.Refused(run.Invalid, A1, "start_run", args("stranger@elsewhere.example"))
	w.Stop()
	w.Options.Trust.People.Open = true
	w.Run()
	id := Must[run.View](w.Server, A1, "start_run", args("Stranger@elsewhere.example")).Run.ID
	_ = w.Refused(run.Invalid, A1, "start_run", args("no address"))
	stranger := w.with(w.TokenWith(idptest.Claims{"org": "acme", "azp": HumanClient, "sub": "u", "email": "stranger@elsewhere.example"}))
	require.Equal(t, "ok", outcome(w.call(stranger, "decide", decideArgs(id, w.item(id), "approved"))))
}

func TestAnAgentsClaimIsItsOwnThoughOthersUseTheSameApplication(t *testing.T) {
	w := start(t)
	token := func(sub, email string) as {
		return w.with(w.TokenWith(idptest.Claims{"org": "acme", "azp": "https://app.example.com/client.json", "sub": sub, "email": email}))
	}
	mine, theirs := token("u1", "mira@example.com"), token("u2", "omar@example.com")
	id := w.startRun()
	r := w.call(mine, "claim", Args{"runId": id, "stepId": "screen", "requestId": ID()})
	require.True(t, r.OK, "%v", r.Error)
	held := read[run.ClaimView](t, r.Data).Token
	require.Equal(t, "forbidden", outcome(w.call(theirs, "submit", Args{"token": held, "output": Args{}, "summary": "x", "requestId": ID()})))
	r = w.call(mine, "submit", Args{"token": held, "output": Args{}, "summary": "Done.", "requestId": ID()})
	require.True(t, r.OK, "%v", r.Error)
	require.Regexp(t, `^app\.example\.com-client\.json\.[0-9a-f]{16}$`, read[run.View](t, r.Data).Data.Steps["screen"].By)
}
