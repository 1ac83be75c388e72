package operations_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
)

func tracePublication(w world) {
	type published struct {
		Data struct {
			Version int
			Hash    string
			Created bool
		}
	}
	publish := func(w world) published {
		status, answer := w.http(Boss, "POST", "/api/processes/asks/publish", "")
		require.Less(w.t, status, 300, answer)
		return read[published](w.t, []byte(answer))
	}
	refused := func(w world, status int, method, path, body string, says ...string) {
		got, answer := w.http(Boss, method, path, body)
		require.Equal(w.t, status, got, answer)
		for _, s := range says {
			require.Contains(w.t, answer, s)
		}
	}
	asks := document("asks", "", "  - { id: ask, person: boss, approve: Agree. }\n  - { id: done, finish: done }")

	w.run("a process whose keys need a profile that is not offered is refused, naming it", func(w world) {
		for _, steps := range []string{
			"  - { id: a, agent: A., check: [{ ask: Is it so? }] }\n  - { id: done, finish: done }",
			"  - { id: a, agent: A., check: [{ ask: Is it so? }], advisory: true }\n  - { id: done, finish: done }",
		} {
			refused(w, 400, "POST", "/api/processes", document("checked", "", steps), "check-1")
		}
		refused(w, 404, "POST", "/api/processes/checked/publish", "")
	})
	w.run("a process of which a run could outgrow what Temporal takes is refused", func(w world) {
		steps := "  - { id: a, wait: 1m }\n"
		for i := range 700 {
			steps += fmt.Sprintf("  - { id: a%d, wait: 1m }\n", i)
		}
		large := document("large", "", steps+"  - { id: done, finish: done }")
		refused(w, 400, "POST", "/api/processes", large, "steps: 702 steps could take 356390 bytes", "at most 327680 are taken; split the process")
		body := document("large", "", "  - { id: done, finish: done }") + strings.Repeat("<", 200_000) // six bytes each, as JSON
		refused(w, 400, "POST", "/api/processes", body, "PROCESS.md: 1200", "bytes when parsed, at most 655360 are taken")
		refused(w, 404, "POST", "/api/processes/large/publish", "")
	})
	w.run("every role must be bound, to a group that there is", func(w world) {
		status, answer := w.http(Boss, "POST", "/api/processes", asks)
		require.Equal(w.t, 201, status, answer)
		refused(w, 400, "POST", "/api/processes/asks/publish", "", "boss")
		refused(w, 400, "PUT", "/api/processes/asks/roles", `{"boss":"nobody"}`, "nobody")
		refused(w, 400, "PUT", "/api/processes/asks/roles", `{"chief":"finance"}`, "chief")
		refused(w, 400, "PUT", "/api/processes/asks/roles", `{"boss":"operators"}`, "operators")
		refused(w, 400, "POST", "/api/processes/asks/publish", "", "boss")
		pages(w, Lena, "list_processes", Args{}, func(p struct{ Name string }) { require.NotEqual(w.t, "asks", p.Name) })
		status, answer = w.http(Boss, "PUT", "/api/processes/asks/roles", `{"boss":"finance"}`)
		require.Equal(w.t, 200, status, answer)
		require.True(w.t, publish(w).Data.Created)
	})
	w.run("the same content with the same bindings makes no new version, other bindings do", func(w world) {
		first := publish(w)
		require.False(w.t, first.Data.Created)
		require.Equal(w.t, 1, first.Data.Version)
		w.s.Publish(asks, map[string]string{"boss": "finance"})
		require.Equal(w.t, 1, publish(w).Data.Version)
		w.s.Publish(asks, map[string]string{"boss": "ops"})
		second := publish(w)
		require.Equal(w.t, 2, second.Data.Version)
		require.Equal(w.t, first.Data.Hash, second.Data.Hash)
		w.s.Publish(asks+"More.\n", map[string]string{"boss": "ops"})
		third := publish(w)
		require.Equal(w.t, 3, third.Data.Version)
		require.NotEqual(w.t, first.Data.Hash, third.Data.Hash)
	})
	w.run("a run pins its version and its bindings for life", func(w world) {
		v := w.view(A1, "start_run", Args{"process": "asks", "version": 1, "inputs": Args{}, "requestId": ID()})
		require.Equal(w.t, "finance", v.WorkItems[0].AssignedTo.Group)
		v = w.view(A1, "start_run", Args{"process": "asks", "inputs": Args{}, "requestId": ID()})
		require.Equal(w.t, "ops", v.WorkItems[0].AssignedTo.Group)
		require.Equal(w.t, "The body of asks.\nMore.\n", v.Body)
	})
	w.run("what breaks a rule is refused with every issue", func(w world) {
		broken := document("broken", "", "  - { id: a, agent: A., next: gone }\n  - { id: a, task: T. }\n  - { id: lost, finish: x, extra: 1 }")
		status, answer := w.http(Boss, "POST", "/api/processes", broken)
		require.Equal(w.t, 400, status)
		var refusal struct{ Error struct{ Issues []string } }
		require.NoError(w.t, json.Unmarshal([]byte(answer), &refusal))
		require.GreaterOrEqual(w.t, len(refusal.Error.Issues), 4, "%s", strings.Join(refusal.Error.Issues, "\n"))
	})
	w.run("only publishers and operators publish", func(w world) {
		for _, who := range []string{A1, Mira, Lena} {
			status, _ := w.http(who, "POST", "/api/processes", asks)
			require.Equal(w.t, 403, status, who)
		}
	})
}
