package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/notify"
)

var at = time.Date(2026, 10, 6, 9, 0, 0, 0, time.UTC)

func sample() notify.Notification {
	due := at.Add(48 * time.Hour)
	return notify.Notification{
		ID: "n_1", Org: "acme", RunID: "r_8f2", Process: "supplier-onboarding", Version: 3,
		StepID: "approve", ItemID: "w_31", Kind: notify.Work, To: []string{"group:R&D"}, Due: &due, At: at,
	}
}

func TestANotificationIsOneLineOfJSON(t *testing.T) {
	bare := notify.Notification{ID: "n_2", Org: "acme", RunID: "r_8f2", Process: "p", Version: 1,
		StepID: "a\nb", Kind: notify.Overdue, At: at}
	var out bytes.Buffer
	require.NoError(t, notify.NewLog(&out).Deliver(context.Background(), []notify.Notification{sample(), bare}))
	require.Equal(t, `{"msg":"notification","id":"n_1","org":"acme","runId":"r_8f2","process":"supplier-onboarding","version":3,`+
		`"stepId":"approve","itemId":"w_31","kind":"work","to":["group:R&D"],"due":"2026-10-08T09:00:00Z","at":"2026-10-06T09:00:00Z"}`+"\n"+
		`{"msg":"notification","id":"n_2","org":"acme","runId":"r_8f2","process":"p","version":1,`+
		`"stepId":"a\nb","kind":"overdue","to":[],"at":"2026-10-06T09:00:00Z"}`+"\n", out.String())
}

func TestANotificationReadsBack(t *testing.T) {
	data, err := json.Marshal(sample())
	require.NoError(t, err)
	var got notify.Notification
	require.NoError(t, json.Unmarshal(data, &got))
	require.Equal(t, sample(), got)
}

func TestLinesOfConcurrentDeliveriesDoNotMix(t *testing.T) {
	var out bytes.Buffer
	log := notify.NewLog(&out)
	const senders, each = 16, 25
	var wg sync.WaitGroup
	errs := make([]error, senders)
	for i := range senders {
		wg.Go(func() {
			batch := make([]notify.Notification, each)
			for j := range batch {
				batch[j] = sample()
				batch[j].ID = fmt.Sprintf("n_%d_%d", i, j)
			}
			errs[i] = log.Deliver(context.Background(), batch)
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	seen := map[string]bool{}
	for l := range strings.Lines(out.String()) {
		var n notify.Notification
		require.NoError(t, json.Unmarshal([]byte(l), &n), l)
		seen[n.ID] = true
	}
	require.Len(t, seen, senders*each)
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestALineThatIsNotWrittenIsAnError(t *testing.T) {
	full := errors.New("disk full")
	err := notify.NewLog(broken{full}).Deliver(context.Background(), []notify.Notification{sample()})
	require.ErrorIs(t, err, full)
	require.ErrorContains(t, err, "n_1")
}

func TestDeliveryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	err := notify.NewLog(&out).Deliver(ctx, []notify.Notification{sample()})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, out.String())
}
