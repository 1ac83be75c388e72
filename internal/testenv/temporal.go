package testenv

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/agentprocess-temporal/server/devstack"
)

// temporalVariable names the Temporal server to use, host:port: one that may
// be littered with namespaces. Unset, each package's tests start one.
const temporalVariable = "AGENTPROCESS_TEST_TEMPORAL"

// Target is a place in a Temporal server.
type Target struct {
	Address   string // host:port of the front end
	Namespace string
}

// Setup prepares a new namespace, such as by registering search attributes.
type Setup func(ctx context.Context, address, namespace string) error

var theTemporal = sync.OnceValues(func() (string, error) {
	if address := os.Getenv(temporalVariable); address != "" {
		return address, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // it may have to be built
	defer cancel()
	server, err := devstack.StartTemporal(ctx, devstack.TemporalOptions{Memory: true, Headless: true, Log: os.Stderr})
	if err != nil {
		return "", fmt.Errorf("start Temporal (or set %s): %w", temporalVariable, err)
	}
	whenDone(server.Stop)
	return server.Address, nil
})

// Temporal returns a new namespace, the test's own, in a Temporal server that
// is there or is started for the occasion. Each setup has run, and every part
// of the server knows of the namespace and of the search attributes that it
// then had: workflows can be started and may use them at once. One closed
// workflow of type `testenv-probe` may show in it for a moment.
func Temporal(t testing.TB, setup ...Setup) Target {
	t.Helper()
	address, err := theTemporal()
	require.NoError(t, err, "no Temporal for tests")
	ctx, cancel := context.WithTimeout(context.Background(), setUpTime)
	defer cancel()
	target := Target{Address: address, Namespace: "test-" + strings.ToLower(rand.Text())}

	c, err := client.NewLazyClient(client.Options{HostPort: address, Namespace: target.Namespace, Logger: log.NewStructuredLogger(discard)})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: target.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err, "register a namespace")
	for _, f := range setup {
		require.NoError(t, f(ctx, address, target.Namespace), "set up a namespace")
	}
	require.NoError(t, awaitNamespace(ctx, c, target.Namespace), "wait for a namespace")
	return target
}
