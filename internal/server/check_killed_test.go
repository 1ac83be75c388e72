package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/devstack"
	"github.com/agentprocess-temporal/server/evaluator/openai/openaitest"
	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	devconfig "github.com/agentprocess-temporal/server/internal/stack"
	"github.com/agentprocess-temporal/server/internal/testenv"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

// replicas are server processes on one Temporal and one Postgres. Each has a
// key of its own for the evaluator, which so knows who asks.
type replicas struct {
	t           *testing.T
	binary, dir string
	tokens      map[string]string
	env         []string
	temporal    testenv.Target
	evaluator   *openaitest.Server
}

type replica struct {
	*replicas
	key, url string
	cmd      *exec.Cmd
}

func newReplicas(t *testing.T) *replicas {
	dir := t.TempDir()
	rs := &replicas{
		t: t, dir: dir, binary: filepath.Join(dir, "agentprocess"),
		temporal: testenv.Temporal(t, Setup), evaluator: openaitest.Start(t, answersOf(1, "", 1, 0, 1)),
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", rs.binary, "../../cmd/agentprocess")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	people, err := devconfig.EnsureDirectory(dir, "", examples.Directory)
	require.NoError(t, err)
	rs.tokens, err = devconfig.WriteConfig(dir, people)
	require.NoError(t, err)
	rs.env = append(os.Environ(), "AGENTPROCESS_POSTGRES="+testenv.Postgres(t), "TEMPORAL_ADDRESS="+rs.temporal.Address,
		"TEMPORAL_NAMESPACE="+rs.temporal.Namespace, "TEMPORAL_TLS=false")
	return rs
}

func (rs *replicas) start(key string) *replica {
	rs.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(rs.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(rs.t, err)
	addr := l.Addr().String()
	require.NoError(rs.t, l.Close())
	file := func(name string) string { return filepath.Join(rs.dir, name) }
	r := &replica{replicas: rs, key: "Bearer " + key, url: "http://" + addr}
	r.cmd = exec.CommandContext(rs.t.Context(), rs.binary, "server", "--addr", addr,
		"--directory", file("directory.yaml"), "--keys", file("keys"), "--secret", file("secret"),
		"--token-key", file(devconfig.PublicKeyFile), "--token-issuer", devconfig.Issuer, "--token-audience", devconfig.Audience,
		"--evaluator-url", rs.evaluator.URL, "--evaluator-model", "m", "--evaluator-timeout", "1m") // a slow machine has time to take over
	r.cmd.Env = append(append([]string{}, rs.env...), "AGENTPROCESS_EVALUATOR_API_KEY="+key)
	if testing.Verbose() {
		r.cmd.Stderr = os.Stderr
	}
	require.NoError(rs.t, r.cmd.Start())
	rs.t.Cleanup(r.kill)
	ready, cancel := context.WithTimeout(rs.t.Context(), time.Minute)
	defer cancel()
	require.NoError(rs.t, devstack.WaitReady(ready, r.url+"/readyz", nil))
	return r
}

// kill ends the process as it is, with SIGKILL.
func (r *replica) kill() {
	_ = r.cmd.Process.Kill() // gone is as good as killed
	_ = r.cmd.Wait()
}

// call calls a tool; an error means that no answer came.
func (r *replica) call(id, tool string, args Args) (mcpclient.Result, error) {
	c, err := mcpclient.Dial(r.t.Context(), r.url+"/mcp", r.tokens[id])
	if err != nil {
		return mcpclient.Result{}, err
	}
	defer func() { _ = c.Close() }()
	return c.Call(r.t.Context(), tool, args)
}

func (r *replica) must(id, tool string, args Args, into any) {
	r.t.Helper()
	result, err := r.call(id, tool, args)
	require.NoError(r.t, err)
	require.True(r.t, result.OK, "%s: %v", tool, result.Error)
	require.NoError(r.t, json.Unmarshal(result.Data, into))
}

func (r *replica) api(method, path, body string, into any) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	require.NoError(r.t, err)
	req.Header.Set("Authorization", "Bearer "+r.tokens[Boss])
	res, err := http.DefaultClient.Do(req)
	require.NoError(r.t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	require.Less(r.t, res.StatusCode, 300, "%s", text)
	if into != nil {
		require.NoError(r.t, json.Unmarshal(text, into))
	}
}

// claimed starts a run, and returns it with the submission to make.
func (r *replica) claimed() (id string, args Args) {
	r.t.Helper()
	var view run.View
	r.must(Mira, "start_run", Args{"process": "one", "inputs": Args{}, "requestId": ID()}, &view)
	var c claimed
	r.must(A1, "claim", Args{"runId": view.Run.ID, "stepId": "work", "requestId": ID()}, &c)
	return view.Run.ID, work(c.Token)
}

// hangs has the evaluator give the first call no answer, and the later ones a
// yes. Who asked first is sent.
func (rs *replicas) hangs() <-chan string {
	asked := make(chan string, 1)
	var n atomic.Int32
	rs.evaluator.Answer(func(c openaitest.Call) openaitest.Reply {
		if n.Add(1) > 1 {
			return openaitest.Yes(c, 1)
		}
		asked <- c.Key
		return openaitest.Reply{Wait: time.Hour}
	})
	return asked
}

func (rs *replicas) await(asked <-chan string) string {
	rs.t.Helper()
	select {
	case key := <-asked:
		return key
	case <-time.After(30 * time.Second):
		require.Fail(rs.t, "nobody asked the evaluator")
		return ""
	}
}

// submissions counts those that the run's workflow carried out or began to.
func (rs *replicas) submissions(id string) int {
	rs.t.Helper()
	c, err := client.Dial(client.Options{HostPort: rs.temporal.Address, Namespace: rs.temporal.Namespace})
	require.NoError(rs.t, err)
	defer c.Close()
	events := c.GetWorkflowHistory(rs.t.Context(), workflows.WorkflowID("acme", id), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	n := 0
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(rs.t, err)
		if u := e.GetWorkflowExecutionUpdateAcceptedEventAttributes(); u.GetAcceptedRequest().GetInput().GetName() == "submit" {
			n++
		}
	}
	return n
}

// The process that is at a check is killed with SIGKILL. The write has one
// outcome all the same, whoever asks for it, and its verdict is there once.
func TestACheckOutlivesTheServerThatIsAtIt(t *testing.T) {
	rs := newReplicas(t)
	first := rs.start("first")
	first.api(http.MethodPost, "/api/processes", one, nil)
	first.api(http.MethodPost, "/api/processes/one/publish", "", nil)
	var runs []string
	view := func(result mcpclient.Result) (v run.View) {
		t.Helper()
		require.True(t, result.OK, "%v", result.Error)
		require.NoError(t, json.Unmarshal(result.Data, &v))
		require.Equal(t, "done", *v.Run.Outcome)
		return v
	}
	type answer struct {
		result mcpclient.Result
		err    error
	}
	submit := func(r *replica, args Args) <-chan answer {
		answered := make(chan answer, 1)
		go func() {
			result, err := r.call(A1, "submit", args)
			answered <- answer{result, err}
		}()
		return answered
	}

	// The only server dies, with the caller's call.
	id, args := first.claimed()
	runs = append(runs, id)
	asked := rs.hangs()
	lost := submit(first, args)
	require.Equal(t, first.key, rs.await(asked))
	first.kill()
	require.Error(t, (<-lost).err, "the caller does not know")
	second := rs.start("second")
	again := <-submit(second, args)
	require.NoError(t, again.err)
	done := view(again.result)
	again = <-submit(second, args)
	require.NoError(t, again.err)
	require.Equal(t, done, view(again.result), "once more, and it is the same answer")
	require.Len(t, rs.evaluator.Calls(), 2, "the one that was lost, and the one that counts")

	// Of two servers that one call was sent to, the one that asks dies.
	third := rs.start("third")
	id, args = second.claimed()
	runs = append(runs, id)
	asked = rs.hangs()
	bySecond, byThird := submit(second, args), submit(third, args)
	dead, alive, answered := second, third, byThird
	if rs.await(asked) == third.key {
		dead, alive, answered = third, second, bySecond
	}
	dead.kill()
	survived := <-answered
	require.NoError(t, survived.err)
	if !survived.result.OK { // its half of the call was the second of the two, and may be told to come back
		require.Equal(t, run.Retry, survived.result.Error.Code)
		survived = <-submit(alive, args)
		require.NoError(t, survived.err)
	}
	done = view(survived.result)
	again = <-submit(alive, args)
	require.NoError(t, again.err)
	require.Equal(t, done, view(again.result))
	require.Len(t, rs.evaluator.Calls(), 4)

	for _, id := range runs {
		require.Equal(t, 1, rs.submissions(id))
		var v struct {
			Data struct{ Steps map[string]json.RawMessage }
		}
		alive.must(Mira, "get_run", Args{"runId": id}, &v)
		require.Equal(t, 1, strings.Count(string(v.Data.Steps["work"]), `"verdict":"pass"`), "%s", v.Data.Steps["work"])
		require.NotContains(t, string(v.Data.Steps["work"]), `"history":[{`)
	}
	var report struct{ Data operations.CheckReport }
	alive.api(http.MethodGet, "/api/processes/one/checks", "", &report)
	require.Len(t, report.Data.Questions, 1)
	require.Equal(t, 2, report.Data.Questions[0].Asked, "each submission once")
	require.Equal(t, 2, report.Data.Questions[0].Passed)
}
