//go:build unix

package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"testing"
)

// The test binary plays other programs too, chosen by this variable.
const roleVariable = "DEVSTACK_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "stack":
		playStack(os.Args[1])
	case "server":
		playServer(os.Args[1])
	}
}

// stackPIDs is what playStack prints when everything runs.
type stackPIDs struct{ Postgres, Temporal, Process int }

// playStack runs a whole stack on a directory until it is killed.
func playStack(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	_, err := Lock(dir)
	fail(err)
	p, err := StartPostgres(ctx, PostgresOptions{Dir: dir})
	fail(err)
	t, err := StartTemporal(ctx, TemporalOptions{Dir: dir})
	fail(err)
	s, err := StartProcess(ProcessOptions{Args: []string{"/bin/sh", "-c", "trap '' TERM INT; exec sleep 1000"}})
	fail(err)
	fail(json.NewEncoder(os.Stdout).Encode(stackPIDs{p.PID(), t.PID(), s.Pid()}))
	runtime.GC() // what was dropped above is still held
	select {}
}

// playServer answers 200 on addr, after a first 503.
func playServer(addr string) {
	asked := false
	_ = http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !asked {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		asked = true
		fmt.Fprint(w, os.Getpid())
	}))
	os.Exit(3)
}
