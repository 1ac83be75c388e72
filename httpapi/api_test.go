package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/operations"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
)

const publisher, operator = "person:pia@example.com", "person:ops@example.com"

func TestAProcessIsImportedBoundAndPublished(t *testing.T) {
	a, source := serve(t), refund(t)

	r := a.do(t, publisher, "POST", "/api/processes", source)
	require.Equal(t, http.StatusCreated, r.status, r.text)
	require.Equal(t, "no-store", r.header.Get("Cache-Control"))
	var draft operations.Draft
	r.data(t, &draft)
	require.Equal(t, "refund", draft.Name)
	require.Equal(t, map[string]string{"payer": ""}, draft.Roles)
	require.Equal(t, []string{"billing"}, draft.Systems)

	issues := a.do(t, publisher, "POST", "/api/processes/refund/publish", "").refused(t, 400, run.Invalid)
	require.Equal(t, []string{"payer: not bound to a group"}, issues)

	r = a.do(t, publisher, "PUT", "/api/processes/refund/roles", `{"payer":"finance"}`)
	require.Equal(t, http.StatusOK, r.status, r.text)
	r.data(t, &draft)
	require.Equal(t, map[string]string{"payer": "finance"}, draft.Roles)

	var v operations.Published
	r = a.do(t, operator, "POST", "/api/processes/refund/publish", "")
	require.Equal(t, http.StatusCreated, r.status, r.text)
	r.data(t, &v)
	require.True(t, v.Created)
	require.Equal(t, 1, v.Version)
	require.Equal(t, draft.Hash, v.Hash)

	r = a.do(t, operator, "POST", "/api/processes/refund/publish", "")
	require.Equal(t, http.StatusOK, r.status, "the same again makes no version")
	r.data(t, &v)
	require.False(t, v.Created)
	require.Equal(t, 1, v.Version)

	var listing operations.Listing
	a.do(t, publisher, "GET", "/api/processes", "").data(t, &listing)
	require.Len(t, listing.Published, 1)
	require.Len(t, listing.Drafts, 1)
	require.Equal(t, v.Hash, listing.Published[0].Hash)

	r = a.do(t, publisher, "HEAD", "/api/processes", "")
	require.Equal(t, http.StatusOK, r.status)
	require.Empty(t, r.text)
}

func TestAnImportIsRefusedWithEveryIssueAndItsPlace(t *testing.T) {
	a := serve(t)
	broken := strings.NewReplacer("name: refund", "name: Re Fund", "finish: paid", "finsh: paid").Replace(refund(t))
	issues := a.do(t, publisher, "POST", "/api/processes", broken).refused(t, 400, run.Invalid)
	require.GreaterOrEqual(t, len(issues), 2)
	require.Regexp(t, `^2:7: `, issues[0])
}

func TestOnlyPublishersAndOperatorsReachTheCatalog(t *testing.T) {
	a := serve(t)
	for _, as := range []string{"agent:a1", "person:mira@example.com"} {
		a.do(t, as, "GET", "/api/processes", "").refused(t, 403, run.Forbidden)
		a.do(t, as, "POST", "/api/processes", refund(t)).refused(t, 403, run.Forbidden)
		a.do(t, as, "PUT", "/api/processes/refund/roles", `{"payer":"finance"}`).refused(t, 403, run.Forbidden)
		a.do(t, as, "POST", "/api/processes/refund/publish", "").refused(t, 403, run.Forbidden)
		a.do(t, as, "DELETE", "/api/runs/r_1", "").refused(t, 403, run.Forbidden)
	}
	a.do(t, publisher, "DELETE", "/api/runs/r_1", "").refused(t, 403, run.Forbidden)
}

func TestARunIsDeletedOnlyOnceItIsOver(t *testing.T) {
	a := serve(t)
	a.do(t, operator, "DELETE", "/api/runs/r_none", "").refused(t, 404, run.NotFound)
	b := &pgx.Batch{}
	records.QueueApply(b, records.Row{Org: "acme", RunID: "r_open", Seq: 1, Process: "refund", Version: 1, State: "active",
		StartedAt: time.Now(), UpdatedAt: time.Now(), Inputs: []byte(`{}`), Files: []string{}, Record: []byte(`{}`)})
	require.NoError(t, a.pool.SendBatch(t.Context(), b).Close())
	issues := a.do(t, operator, "DELETE", "/api/runs/r_open", "").refused(t, 409, run.Conflict)
	require.Equal(t, []string{"not_ended"}, issues)
}

func TestRolesAreReadStrictly(t *testing.T) {
	a := serve(t)
	a.do(t, publisher, "POST", "/api/processes", refund(t))
	for name, body := range map[string]string{
		"nothing":             ``,
		"no JSON":             `payer=finance`,
		"a list":              `["payer"]`,
		"null":                `null`,
		"an empty object":     `{}`,
		"a group that is not": `{"payer":null}`,
		"a number":            `{"payer":1}`,
		"an object":           `{"payer":{"group":"finance"}}`,
		"a role twice":        `{"payer":"ops","payer":"finance"}`,
		"more after it":       `{"payer":"finance"} {}`,
		"a brace too many":    `{"payer":"finance"}}`,
		"an open end":         `{"payer":"finance"`,
		"bytes that are none": "{\"payer\":\"\xff\"}",
		"an unknown role":     `{"owner":"finance"}`,
		"a role that is NUL":  `{"\u0000":"finance"}`,
		"an unknown group":    `{"payer":"\u0000"}`,
	} {
		t.Run(name, func(t *testing.T) {
			issues := a.do(t, publisher, "PUT", "/api/processes/refund/roles", body).refused(t, 400, run.Invalid)
			require.NotEmpty(t, issues)
		})
	}
	issues := a.do(t, publisher, "PUT", "/api/processes/refund/roles", `{"a":1,"b":2}`).refused(t, 400, run.Invalid)
	require.Len(t, issues, 2, "every issue at once")
}

func TestAnAddressThatNamesNothingIsNotFoundInJSON(t *testing.T) {
	a := serve(t)
	for _, path := range []string{
		"/api/", "/api/process", "/api/processes/", "/api/processes/refund", "/api/processes/refund/roles/payer", "/api/runs", "/api/runs/",
	} {
		a.do(t, operator, "GET", path, "").refused(t, 404, run.NotFound)
	}
	for _, name := range []string{"unknown", "%00", "a%2Fb", "%ff", strings.Repeat("x", 600), "%E2%80%AE"} {
		a.do(t, operator, "POST", "/api/processes/"+name+"/publish", "").refused(t, 404, run.NotFound)
		a.do(t, operator, "PUT", "/api/processes/"+name+"/roles", `{"a":"finance"}`).refused(t, 404, run.NotFound)
		a.do(t, operator, "DELETE", "/api/runs/"+name, "").refused(t, 404, run.NotFound)
	}
}

func TestAnotherMethodIsRefusedAndTheRightOnesNamed(t *testing.T) {
	a := serve(t)
	for _, c := range [][3]string{
		{"DELETE", "/api/processes", "GET, POST, HEAD"},
		{"POST", "/api/processes/refund/roles", "PUT"},
		{"GET", "/api/processes/refund/publish", "POST"},
		{"GET", "/api/runs/r_1", "DELETE"},
	} {
		r := a.do(t, operator, c[0], c[1], "")
		r.refused(t, 405, run.Invalid)
		require.Equal(t, c[2], r.header.Get("Allow"))
	}
}

func TestABodyIsReadUpToItsLimit(t *testing.T) {
	a, source := serve(t), refund(t)
	full := source + strings.Repeat("x", httpapi.MaxSource-len(source))
	require.Equal(t, http.StatusCreated, a.do(t, publisher, "POST", "/api/processes", full).status)

	a.do(t, publisher, "POST", "/api/processes", full+"x").refused(t, 413, run.Invalid)
	// Of unknown length, too.
	a.send(t, publisher, "POST", "/api/processes", io.MultiReader(strings.NewReader(full), strings.NewReader("x"))).refused(t, 413, run.Invalid)
	roles := `{"payer":"` + strings.Repeat("x", 256<<10) + `"}`
	a.do(t, publisher, "PUT", "/api/processes/refund/roles", roles).refused(t, 413, run.Invalid)
}

func TestADatabaseThatIsAwayIsRetried(t *testing.T) {
	a := serve(t)
	a.pool.Close()
	r := a.do(t, publisher, "GET", "/api/processes", "")
	r.refused(t, 503, run.Retry)
	require.Equal(t, "1", r.header.Get("Retry-After"))
	require.NotContains(t, r.text, "pool", "internals are not shown")
}

func TestWithoutAuthenticationInFrontNothingIsAnswered(t *testing.T) {
	w := httptest.NewRecorder()
	httpapi.New(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/processes", http.NoBody))
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.True(t, json.Valid(w.Body.Bytes()), w.Body.String())
}

// refusing refuses to list with one code.
type refusing struct {
	httpapi.Operations
	refusal *run.Error
}

func (r refusing) Catalog(context.Context, identity.Caller) (operations.Listing, *run.Error) {
	return operations.Listing{}, r.refusal
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	d, err := identity.ParseDirectory([]byte(directory))
	require.NoError(t, err)
	for code, status := range map[run.Code]int{
		run.Invalid: 400, run.Forbidden: 403, run.NotFound: 404, run.Conflict: 409, run.Stale: 409,
		run.NotAccepted: 422, run.Retry: 503, "unheard_of": 500,
	} {
		a := serveOps(t, refusing{refusal: run.Refuse(code, "no <b>&", "one", "two")}, d, nil)
		r := a.do(t, operator, "GET", "/api/processes", "")
		require.Equal(t, []string{"one", "two"}, r.refused(t, status, code))
		require.Equal(t, "no <b>&", r.Error.Message)
	}
}
