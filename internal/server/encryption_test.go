package server_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/agentprocess-temporal/server/internal/payloadcodec"
	"github.com/agentprocess-temporal/server/internal/server"
	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/workflows"
)

func TestBusinessDataInHistoryIsEncryptedWithPayloadKeys(t *testing.T) {
	keys, err := payloadcodec.ParseKeys("k1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
	require.NoError(t, err)
	s := Start(t, func(o *server.Options) { o.PayloadKeys = keys })
	s.Publish(onboarding, map[string]string{"finance-approver": "finance"})
	view := Must[run.View](s, Mira, "start_run", Args{
		"process": "supplier-onboarding", "inputs": Args{"vendorName": "Secretive Ltd", "amount": 1}, "requestId": ID(),
	})
	claim := Must[claimed](s, A1, "claim", Args{"runId": view.Run.ID, "stepId": "screen", "requestId": ID()})
	require.Contains(t, string(claim.Data.Inputs), "Secretive Ltd")
	// A refusal travels encrypted, too, and arrives whole.
	refused := s.Refused(run.NotAccepted, A1, "submit", Args{
		"token": claim.Token, "output": Args{"cleared": "maybe"}, "summary": "Hidden words.", "requestId": ID(),
	})
	require.Contains(t, refused.Issues, "output.cleared: expected boolean")

	c, err := client.Dial(client.Options{HostPort: s.Temporal.Address, Namespace: s.Temporal.Namespace})
	require.NoError(t, err)
	defer c.Close()
	history := c.GetWorkflowHistory(context.Background(), workflows.WorkflowID("acme", view.Run.ID), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var all strings.Builder
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		all.WriteString(event.String())
	}
	require.Contains(t, all.String(), "binary/encrypted")
	for _, secret := range []string{"Secretive", "Hidden words", "Screen a supplier", "expected boolean"} {
		require.NotContains(t, all.String(), secret)
	}
}
