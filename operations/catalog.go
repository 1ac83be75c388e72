package operations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentprocess-temporal/server/catalog"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/process"
	"github.com/agentprocess-temporal/server/run"
	"github.com/agentprocess-temporal/server/schemas"
)

// Draft is an imported process that is not published, or not again yet (spec §7).
type Draft struct {
	Name string `json:"name"`
	Hash string `json:"hash"`
	// Roles maps each role of the process to the group it is bound to, empty
	// while it is not bound.
	Roles map[string]string `json:"roles"`
	// Systems is what the process requires outside the server.
	Systems []string `json:"systems,omitempty"`
}

// Published is a version in the catalog.
type Published struct {
	Name        string            `json:"name"`
	Version     int               `json:"version"`
	Hash        string            `json:"hash"`
	Description string            `json:"description"`
	Roles       map[string]string `json:"roles"`
	Systems     []string          `json:"systems,omitempty"`
	// Created is false where the newest version was the same already.
	Created bool `json:"created"`
}

// Listing is what an organization has in its catalog.
type Listing struct {
	Published []Published `json:"published"`
	Drafts    []Draft     `json:"drafts"`
}

// ImportProcess stores a PROCESS.md as a draft. A process that breaks a rule of
// spec §2, or needs what this server does not offer, is refused with every issue.
func (s *Service) ImportProcess(ctx context.Context, caller identity.Caller, source []byte) (Draft, *run.Error) {
	d, err := s.importProcess(ctx, caller, source)
	return d, s.catalogRefusal(ctx, err, "import", caller)
}

// BindRoles maps roles of a draft to groups of the organization.
func (s *Service) BindRoles(ctx context.Context, caller identity.Caller, name string, roles map[string]string) (Draft, *run.Error) {
	d, err := s.bindRoles(ctx, caller, name, roles)
	return d, s.catalogRefusal(ctx, err, "bind", caller)
}

// PublishProcess makes the draft a version (spec §6 rule 5). The same content
// with the same bindings again makes none.
func (s *Service) PublishProcess(ctx context.Context, caller identity.Caller, name string) (Published, *run.Error) {
	p, err := s.publishProcess(ctx, caller, name)
	return p, s.catalogRefusal(ctx, err, "publish", caller)
}

// Catalog lists the newest version of every process, and the drafts.
func (s *Service) Catalog(ctx context.Context, caller identity.Caller) (Listing, *run.Error) {
	l, err := s.catalog(ctx, caller)
	return l, s.catalogRefusal(ctx, err, "processes", caller)
}

func (s *Service) catalogRefusal(ctx context.Context, err error, what string, caller identity.Caller) *run.Error {
	if err == nil {
		return nil
	}
	return s.refusal(ctx, err, what, caller)
}

func mayPublish(caller identity.Caller) error {
	if !caller.Publisher && !caller.Operator {
		return run.Refuse(run.Forbidden, "only publishers and operators work on the catalog")
	}
	return nil
}

func (s *Service) importProcess(ctx context.Context, caller identity.Caller, source []byte) (Draft, error) {
	if err := mayPublish(caller); err != nil {
		return Draft{}, err
	}
	if len(source) > MaxSourceBytes {
		return Draft{}, run.Refuse(run.Invalid, "the process is too large",
			fmt.Sprintf("PROCESS.md: %d bytes, at most %d are taken", len(source), MaxSourceBytes))
	}
	p, err := s.parse(source)
	if err != nil {
		return Draft{}, err
	}
	if err := catalog.Import(ctx, s.Pool, catalog.Draft{Org: caller.Org, Name: p.Name, Source: source, UpdatedBy: caller.Subject}); err != nil {
		return Draft{}, err
	}
	return s.draft(ctx, caller.Org, p.Name)
}

// parse reads a process and refuses what is wrong with it, or missing here.
func (s *Service) parse(source []byte) (*process.Process, error) {
	p, issues := process.Parse(source)
	if len(issues) == 0 {
		issues = p.Missing(s.Profiles, schemas.Tools())
	}
	if len(issues) == 0 {
		if err := tooLarge(p); err != nil {
			return nil, err
		}
	}
	if len(issues) > 0 {
		return nil, run.Refuse(run.Invalid, "the process cannot be published", texts(issues)...)
	}
	return p, nil
}

// What a process may take, in bytes. A workflow begins with the parsed process and
// the run's record, within 2 MiB, and one workflow task may return ten records,
// within 4 MiB.
const (
	// MaxSourceBytes bounds a PROCESS.md.
	MaxSourceBytes = 512 << 10
	// MaxDocumentBytes bounds the parsed process, as JSON.
	MaxDocumentBytes = 640 << 10
	// MaxRecordShare bounds what the steps of a process take in the record of a run
	// besides what callers write, as [run.Share] counts. Some 600 steps fit.
	MaxRecordShare = 320 << 10
)

// tooLarge refuses a process of which a run could outgrow what Temporal takes.
func tooLarge(p *process.Process) error {
	var issues []string
	document, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if len(document) > MaxDocumentBytes {
		issues = append(issues, fmt.Sprintf("PROCESS.md: %d bytes when parsed, at most %d are taken", len(document), MaxDocumentBytes))
	}
	if n := run.Share(p); n > MaxRecordShare {
		issues = append(issues, fmt.Sprintf("steps: %d steps could take %d bytes of a run's record, at most %d are taken; split the process", len(p.Steps), n, MaxRecordShare))
	}
	if len(issues) > 0 {
		return run.Refuse(run.Invalid, "the process is too large", issues...)
	}
	return nil
}

// mostIssues bounds a refusal: a file can be made to have any number of issues.
const mostIssues = 1000

func texts(issues process.Issues) []string {
	out := issues.Strings()
	if more := len(out) - mostIssues; more > 0 {
		out = append(out[:mostIssues], fmt.Sprintf("and %d more", more))
	}
	return out
}

func (s *Service) draft(ctx context.Context, org, name string) (Draft, error) {
	stored, err := catalog.GetDraft(ctx, s.Pool, org, name)
	if err != nil {
		return Draft{}, err
	}
	if stored == nil {
		return Draft{}, run.Refuse(run.NotFound, "there is no draft of this process: import it first")
	}
	return draftOf(stored)
}

func draftOf(stored *catalog.Draft) (Draft, error) {
	p, issues := process.Parse(stored.Source)
	if len(issues) > 0 {
		return Draft{}, run.Refuse(run.Invalid, "the draft breaks rules that this version of the server has; import it again", texts(issues)...)
	}
	d := Draft{Name: p.Name, Hash: p.Hash, Roles: bound(p, stored.Bindings)}
	if p.Requires != nil {
		d.Systems = p.Requires.Systems
	}
	return d, nil
}

// bound is the part of the bindings that the process has roles for, empty where
// a role has none.
func bound(p *process.Process, bindings map[string]string) map[string]string {
	roles := map[string]string{}
	for _, role := range p.Roles() {
		roles[role] = bindings[role]
	}
	return roles
}

func (s *Service) bindRoles(ctx context.Context, caller identity.Caller, name string, roles map[string]string) (Draft, error) {
	if err := mayPublish(caller); err != nil {
		return Draft{}, err
	}
	d, err := s.draft(ctx, caller.Org, name)
	if err != nil {
		return Draft{}, err
	}
	var issues []string
	for role, group := range roles {
		if _, ok := d.Roles[role]; !ok {
			issues = append(issues, fmt.Sprintf("%s: not a role of this process", role))
		}
		if !s.People.HasGroup(caller.Org, group) {
			issues = append(issues, fmt.Sprintf("%s: there is no group %q in the organization", role, group))
		}
	}
	if len(issues) > 0 {
		slices.Sort(issues)
		return Draft{}, run.Refuse(run.Invalid, "the roles cannot be bound", issues...)
	}
	if err := catalog.Bind(ctx, s.Pool, caller.Org, name, roles); err != nil {
		if errors.Is(err, catalog.ErrNoDraft) {
			return Draft{}, run.Refuse(run.NotFound, "there is no draft of this process: import it first")
		}
		return Draft{}, err
	}
	return s.draft(ctx, caller.Org, name)
}

func (s *Service) publishProcess(ctx context.Context, caller identity.Caller, name string) (Published, error) {
	if err := mayPublish(caller); err != nil {
		return Published{}, err
	}
	stored, err := catalog.GetDraft(ctx, s.Pool, caller.Org, name)
	if err != nil {
		return Published{}, err
	}
	if stored == nil {
		return Published{}, run.Refuse(run.NotFound, "there is no draft of this process: import it first")
	}
	p, err := s.parse(stored.Source)
	if err != nil {
		return Published{}, err
	}
	roles := bound(p, stored.Bindings)
	if issues := s.unbound(caller.Org, roles); len(issues) > 0 {
		return Published{}, run.Refuse(run.Invalid, "every role must be bound to a group", issues...)
	}
	document, err := json.Marshal(p)
	if err != nil {
		return Published{}, err
	}
	v, created, err := catalog.Publish(ctx, s.Pool, catalog.Version{
		Org: caller.Org, Name: p.Name, Hash: p.Hash, Description: p.Description,
		Source: stored.Source, Document: document, Bindings: roles, PublishedBy: caller.Subject,
	})
	if err != nil {
		return Published{}, err
	}
	return publishedOf(v, created)
}

func (s *Service) unbound(org string, roles map[string]string) []string {
	var issues []string
	for role, group := range roles {
		switch {
		case group == "":
			issues = append(issues, fmt.Sprintf("%s: not bound to a group", role))
		case !s.People.HasGroup(org, group):
			issues = append(issues, fmt.Sprintf("%s: bound to %q, a group that the organization no longer has", role, group))
		}
	}
	slices.SortFunc(issues, strings.Compare)
	return issues
}

func publishedOf(v catalog.Version, created bool) (Published, error) {
	var p process.Process
	if err := json.Unmarshal(v.Document, &p); err != nil {
		return Published{}, fmt.Errorf("stored process %q version %d: %w", v.Name, v.Number, err)
	}
	out := Published{Name: v.Name, Version: v.Number, Hash: v.Hash, Description: v.Description, Roles: v.Bindings, Created: created}
	if p.Requires != nil {
		out.Systems = p.Requires.Systems
	}
	return out, nil
}

func (s *Service) catalog(ctx context.Context, caller identity.Caller) (Listing, error) {
	l := Listing{Published: []Published{}, Drafts: []Draft{}}
	if err := mayPublish(caller); err != nil {
		return l, err
	}
	for after := ""; ; {
		versions, err := catalog.List(ctx, s.Pool, caller.Org, after, 100)
		if err != nil {
			return l, err
		}
		for _, v := range versions {
			p, err := publishedOf(v, false)
			if err != nil {
				return l, err
			}
			l.Published = append(l.Published, p)
			after = v.Name
		}
		if len(versions) < 100 {
			break
		}
	}
	drafts, err := catalog.ListDrafts(ctx, s.Pool, caller.Org)
	if err != nil {
		return l, err
	}
	for i := range drafts {
		d, err := draftOf(&drafts[i])
		if err != nil {
			d = Draft{Name: drafts[i].Name}
		}
		l.Drafts = append(l.Drafts, d)
	}
	return l, nil
}
