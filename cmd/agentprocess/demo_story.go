package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/agentprocess-temporal/server/examples"
	"github.com/agentprocess-temporal/server/internal/mcpclient"
	"github.com/agentprocess-temporal/server/run"
)

type arguments = map[string]any

// onboard takes one supplier from a file to onboarded, and returns the run's id.
func (d *demo) onboard(ctx context.Context) (string, error) {
	folder := filepath.Join(d.dir, "supplier-onboarding")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "PROCESS.md"), examples.SupplierOnboarding, 0o600); err != nil {
		return "", err
	}
	d.say("A process is a file, %s/PROCESS.md. Import it, say who finance is, publish it.", folder)
	for _, args := range [][]string{
		{"import", folder},
		{"bind", "supplier-onboarding", "--role", "finance-approver=finance"},
		{"publish", "supplier-onboarding"},
	} {
		if err := d.command(ctx, args...); err != nil {
			return "", err
		}
	}

	d.say("Omar, of finance, starts a run. From here on everything is MCP.")
	var view run.View
	if err := d.call(ctx, "person:omar@example.com", "start_run", arguments{
		"process": "supplier-onboarding", "inputs": arguments{"vendorName": "Acme Ltd", "amount": json.Number("48000.00")},
	}, &view); err != nil {
		return "", err
	}
	id := view.Run.ID

	if err := d.screen(ctx, id, "Searched both lists by legal name. No hits.", true); err != nil {
		return "", err
	}
	d.say("Mira, of finance, is not convinced.")
	if err := d.decide(ctx, "person:mira@example.com", arguments{"decision": "rejected", "note": "Acme also trades as Zenith. Search for that too."}); err != nil {
		return "", err
	}
	if err := d.screen(ctx, id, "Searched for Acme Ltd and for Zenith on both lists. No hits.", false); err != nil {
		return "", err
	}
	d.say("Now she is. Her colleague Omar could have decided as well: the first decision wins.")
	if err := d.decide(ctx, "person:mira@example.com", arguments{"decision": "approved"}); err != nil {
		return "", err
	}
	return id, d.record(ctx, id)
}

// screen is the agent's work: find, claim, upload, submit.
func (d *demo) screen(ctx context.Context, runID, summary string, killed bool) error {
	const agent = "agent:a1"
	d.say("The agent looks for work and claims what it finds.")
	var work struct{ Items []run.AgentWork }
	if err := d.call(ctx, agent, "get_work", arguments{}, &work); err != nil {
		return err
	}
	i := -1
	for j, item := range work.Items {
		if item.RunID == runID {
			i = j
		}
	}
	if i < 0 {
		return fmt.Errorf("run %s is not among the agent's work", runID)
	}
	call := work.Items[i].Claim.Arguments
	var claim run.ClaimView
	if err := d.call(ctx, agent, "claim", arguments{"runId": call.RunID, "stepId": call.StepID}, &claim); err != nil {
		return err
	}
	if rejected := claim.Data.Steps["approve"]; rejected != nil && rejected.Completion != nil {
		d.say("It reads in the run data what finance said: %q", rejected.Note)
	}
	if killed {
		if err := d.kill(ctx); err != nil {
			return err
		}
	}
	var file struct{ ID, SHA256 string }
	if err := d.call(ctx, agent, "upload", arguments{
		"fileName": "screening.txt", "contentType": "text/plain",
		"contentBase64": base64.StdEncoding.EncodeToString([]byte(summary)),
	}, &file); err != nil {
		return err
	}
	return d.call(ctx, agent, "submit", arguments{
		"token": claim.Token, "summary": summary,
		"output":   arguments{"cleared": true, "summary": summary},
		"evidence": []arguments{{"kind": "file", "ref": file.ID}},
		"next":     "approve", "reason": "Neither list has the supplier.",
	}, nil)
}

// decide decides the caller's oldest work item.
func (d *demo) decide(ctx context.Context, as string, args arguments) error {
	var work struct{ Items []run.PersonWork }
	if err := d.call(ctx, as, "get_work", arguments{"process": "supplier-onboarding"}, &work); err != nil {
		return err
	}
	if len(work.Items) == 0 {
		return fmt.Errorf("%s has no work", as)
	}
	item := work.Items[len(work.Items)-1].WorkItem
	args["runId"], args["workItemId"], args["snapshot"] = item.Decide.Arguments.RunID, item.ID, item.Snapshot
	return d.call(ctx, as, "decide", args, nil)
}

// record shows what the server keeps of the run.
func (d *demo) record(ctx context.Context, id string) error {
	var view json.RawMessage
	if err := d.call(ctx, "person:lena@example.com", "get_run", arguments{"runId": id}, &view); err != nil {
		return err
	}
	var parts struct {
		Run   json.RawMessage `json:"run"`
		Data  json.RawMessage `json:"data"`
		Steps json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(view, &parts); err != nil {
		return err
	}
	text, err := json.MarshalIndent(parts, "", "  ")
	if err != nil {
		return err
	}
	d.say("The record, as anyone in the organization reads it:\n%s", text)
	return nil
}

// call calls a tool over MCP, telling what it does; writes get a fresh requestId.
func (d *demo) call(ctx context.Context, as, tool string, args arguments, into any) error {
	client, err := mcpclient.Dial(ctx, d.stack.Info.MCP, d.stack.Info.Tokens[as])
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if tool != "get_work" && tool != "get_run" {
		args["requestId"] = uuid.NewString()
	}
	result, err := client.Call(ctx, tool, args)
	if err != nil {
		return fmt.Errorf("%s as %s: %w", tool, as, err)
	}
	if !result.OK {
		return fmt.Errorf("%s as %s: %w", tool, as, result.Error)
	}
	fmt.Fprintf(d.out, "  %-24s %-10s ok", as, tool)
	var head struct {
		Run *struct {
			ID, State string
			Outcome   *string
		}
		Items []json.RawMessage
	}
	if json.Unmarshal(result.Data, &head) == nil {
		switch {
		case head.Run != nil && head.Run.Outcome != nil:
			fmt.Fprintf(d.out, "  run %s is %s: %s", head.Run.ID, head.Run.State, *head.Run.Outcome)
		case head.Run != nil:
			fmt.Fprintf(d.out, "  run %s is %s", head.Run.ID, head.Run.State)
		case head.Items != nil:
			fmt.Fprintf(d.out, "  %d found", len(head.Items))
		}
	}
	fmt.Fprintln(d.out)
	if into == nil {
		return nil
	}
	return json.Unmarshal(result.Data, into)
}
