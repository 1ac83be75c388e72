package conformance

import (
	"slices"
)

var requiredTools = []string{"describe", "list_processes", "start_run", "get_run", "get_work", "claim", "submit", "escalate", "decide", "cancel"}

var optionalTools = []string{"renew", "upload", "send_event", "list_runs"}

func describeChecks() []Check {
	return []Check{{
		ID: "describe-shape", Clauses: []string{"tools describe", "spec §4.1"},
		Title: "describe names the protocol, its version, the profiles, the lease, the form of a person and the tools",
		Run: func(t *T) {
			t.Match("describe", Args{
				"protocol": "agentprocess", "version": "core-2", "profiles": anything{}, "leaseSeconds": anything{},
				"person": Args{"format": aText{}}, "tools": anything{}, "maxUploadBytes": perhaps{anything{}}, "limits": perhaps{anything{}},
			}, t.OK(t.One, "describe", nil))
			d := t.OK(t.One, "describe", Args{})
			t.True(d.Int("leaseSeconds") >= 1, "leaseSeconds is %s, not a positive whole number", d.At("leaseSeconds"))
			t.True(len(d.Strs("profiles")) == len(d.List("profiles")) && d.At("profiles").X != nil, "profiles is %s, not a list of names", d.At("profiles"))
			for _, limit := range []string{"maxUploadBytes", "limits.runDataBytes"} {
				t.True(d.At(limit).X == nil || d.Int(limit) > 0, "%s is %s", limit, d.At(limit))
			}
		},
	}, {
		ID: "describe-tools", Clauses: []string{"tools describe", "spec §4.1", "spec §4.2"},
		Title: "describe offers all required tools, and what it offers is what MCP lists",
		Run: func(t *T) {
			offered := t.OK(t.One, "describe", nil).Strs("tools")
			for _, tool := range requiredTools {
				t.True(slices.Contains(offered, tool), "the required tool %s is not offered", tool)
			}
			listed, err := t.One.wire.tools(t.ctx)
			t.True(err == nil, "tools/list failed: %v", err)
			for _, tool := range slices.Concat(requiredTools, optionalTools) {
				t.True(slices.Contains(listed, tool) == slices.Contains(offered, tool), "describe and tools/list disagree about %s", tool)
			}
			for name := range t.published {
				f := t.fixture(name)
				if f == nil {
					continue
				}
				why := f.missing(t.Profiles, t.Tools)
				t.True(why == "", "%s is published, but needs what describe does not offer: %s", name, why)
			}
		},
	}, {
		ID: "describe-everyone", Clauses: []string{"tools describe", "spec §4.1"},
		Title: "Anyone may call describe, and all see the same",
		Run: func(t *T) {
			want := t.OK(t.One, "describe", nil)
			for _, a := range t.everyone[1:] {
				t.Equal("describe as "+a.Name, want.X, t.OK(a, "describe", nil).X)
			}
		},
	}}
}

func processChecks() []Check {
	return []Check{{
		ID: "processes-pages", Clauses: []string{"tools list_processes"},
		Title: "list_processes pages through every published process once",
		Run: func(t *T) {
			seen := map[string]bool{}
			args := Args{}
			for range 200 {
				page := t.OK(t.Member, "list_processes", args)
				for _, item := range page.List("items") {
					name := item.Str("name")
					t.True(!seen[name], "%s is listed twice", name)
					t.True(item.Int("version") >= 1, "version of %s is %s", name, item.At("version"))
					seen[name] = true
				}
				if page.Str("nextCursor") == "" {
					break
				}
				args = Args{"cursor": page.Str("nextCursor")}
			}
			for name := range t.published {
				t.True(seen[name], "%s is missing", name)
			}
		},
	}}
}
