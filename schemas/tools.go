package schemas

// entry is what agents and people read about one tool.
type entry struct{ name, title, description string }

// tools are in the order of the contracts.
var tools = []entry{
	{"describe", "Describe the server", `What this server speaks and allows: protocol version, profiles, length of a lease, how a person is written, size limits, and the tools on offer. Anyone may call it; call it first. It changes nothing.`},

	{"list_processes", "List processes", `The published processes with what each is for, its latest version and the inputs start_run needs, a page at a time. Anyone may call it. It changes nothing.`},

	{"start_run", "Start a run", `Starts a run of a published process and returns the run view: the run, its data, its steps, what people are asked to do, and the text of the process. Agents and people may call it. Expect not_found for an unknown process or version, and invalid, with an issue for each input that is missing, undeclared or of the wrong type; a process with work for its initiator can be started by a person only.`},

	{"get_run", "Read a run", `The run view of one run: state, data, steps and open work items, each with the snapshot a decision needs. Anyone in the organization may call it. It changes nothing. Expect not_found for an id that is not a run here.`},

	{"get_work", "Find work", `Work waiting for the caller, oldest first, a page at a time. An agent gets steps it may claim, each with the claim call to make; a person gets work items, each with the decide call to make and the decisions it takes. In both, replace the placeholder requestId by a new UUID. Read handoff before you begin: it is what the last attempt left. It changes nothing. An item with mode test is a rehearsal: cause no effects in the real world.`},

	{"claim", "Claim a step", `Takes a ready agent step for you alone until expiresAt, and returns the token that renew, submit and escalate need, with the instructions, the fields and evidence to submit, the ways to choose from, the handoff of the last attempt, the text of the process and all run data. For agents. Expect conflict: claimed_by_other means look for other work, claimed_by_you that you hold it already (send the first claim again to get its token back), not_ready or run_ended that there is nothing to claim; forbidden for a step that is not for agents, not_found for an unknown run or step.`},

	{"renew", "Renew a claim", `Extends your lease to a full length from now and returns a new token; the old one stops working. Call it well before expiresAt, with a progress note for whoever takes over if you vanish. For the agent that holds the claim. Expect stale when the lease has ended: stop, the step may be with someone else.`},

	{"upload", "Upload a file", `Stores a file and returns its id, to be passed as ref of an evidence item of kind file, with its hash and size. Agents and people may call it; needed only where evidence of kind file is asked for. Expect invalid for a file over maxUploadBytes of describe or for content that is not base64.`},

	{"submit", "Submit work", `Hands in the work of a claimed step: its output, evidence, a summary and, where there is a choice, the way to go on. ok means accepted; the run view returned shows what comes next, or that a check was unsure and a person will look. For the agent that holds the claim. Expect not_accepted with every fault in issues: nothing changed and you still hold the claim, so repair the work and submit again with a new requestId. stale means that the lease ended or the claim was replaced: stop. conflict with run_ended means that the run is over. A retry wants the same call again with the same requestId.`},

	{"escalate", "Hand a step to a person", `Gives up a claimed step that you cannot finish: it goes to a person with your note, and your token stops working. Returns the run view. For the agent that holds the claim. Use it rather than guess, or let the lease run out. Expect stale when the lease has ended, and conflict with run_ended.`},

	{"decide", "Decide a work item", `Completes a work item: finish a task, approve or reject, send an escalated step back or finish it, or fail the run. Returns the run view. For people only, and among them those the item is assigned to. Start from the decide call in the item, with a new requestId and a decision out of its list. rejected, returned and failed need a note; completed takes output, evidence, summary, next and reason instead, as the item asks. Expect conflict with already_decided when someone was faster, stale when run data changed since your snapshot (read the run again, then decide), not_accepted when the work has faults, forbidden for everyone who is not asked.`},

	{"cancel", "Cancel a run", `Ends a run that is not over, for good, and records the reason; nothing that it caused elsewhere is undone. Returns the run view. For operators. Expect forbidden for everyone else, and conflict with run_ended when it is over already.`},

	{"send_event", "Send an event to a run", `Tells a run that something happened. consumedBy is the step that was waiting for an event of this name; when it is null the event is kept for a later wait, oldest first, until the run ends. For agents and operators. Expect not_found for an unknown run, conflict with run_ended, and invalid when the data is too large.`},

	{"list_runs", "List runs", `Runs of the organization with state, outcome and inputs, a page at a time, filtered by process, state and values of inputs. Anyone in the organization may call it. It changes nothing; get_run shows one in full.`},
}
