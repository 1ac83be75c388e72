package operations

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/agentprocess-temporal/server/catalog"
	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/internal/postgres"
	"github.com/agentprocess-temporal/server/records"
	"github.com/agentprocess-temporal/server/run"
)

// CheckReport says how the checks of a process compare with what people decided
// about the same submissions (check profile §1, §4).
type CheckReport struct {
	Process string `json:"process"`
	// Since is the moment from which verdicts count; null for all there are.
	Since     *time.Time     `json:"since"`
	Questions []CheckMeasure `json:"questions"`
}

// CheckMeasure is one question of one step, in one version, as one model
// answered it, advisory or enforced.
type CheckMeasure struct {
	Step string `json:"step"`
	// Question is its number in the check, from 1.
	Question int              `json:"question"`
	Ask      string           `json:"ask"`
	Kind     run.QuestionKind `json:"kind"`
	Version  int              `json:"version"`
	Model    string           `json:"model"`
	Advisory bool             `json:"advisory"`

	// Asked counts the submissions; the next four add up to it.
	Asked       int `json:"asked"`
	Passed      int `json:"passed"`
	Failed      int `json:"failed"`
	Unsure      int `json:"unsure"`
	NotAnswered int `json:"notAnswered"`
	// UnsureShare is Unsure of those that were answered.
	UnsureShare float64 `json:"unsureShare"`
	// Decisions counts what people made of the submissions that were answered.
	Decisions map[run.Judgement]int `json:"decisions"`

	// Compared counts the passes and fails that somebody then decided about.
	Compared int `json:"compared"`
	// Agreement is the share of them in which the person decided alike.
	Agreement Share `json:"agreement"`
	// FalsePasses passed and a person did not accept them. FalseFails failed and
	// a person accepted them, which only an advisory check, or one that another
	// question was unsure in, can show: else nobody sees what fails.
	FalsePasses int `json:"falsePasses"`
	FalseFails  int `json:"falseFails"`
}

// Share is a share of n with its 95 % interval (Wilson). All is null for none.
type Share struct {
	N     int      `json:"n"`
	Share *float64 `json:"share"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// CheckReport measures the checks of a process, of the last span, or of all
// verdicts that its runs remember if that is zero. Test runs do not count. It is
// for operators and publishers.
func (s *Service) CheckReport(ctx context.Context, caller identity.Caller, process string, span time.Duration) (CheckReport, *run.Error) {
	report, err := s.checkReport(ctx, caller, process, span)
	return report, s.catalogRefusal(ctx, err, "check report", caller)
}

type measureKey struct {
	step     string
	question int
	version  int
	model    string
	advisory bool
}

func (s *Service) checkReport(ctx context.Context, caller identity.Caller, process string, span time.Duration) (CheckReport, error) {
	report := CheckReport{Process: process, Questions: []CheckMeasure{}}
	if err := mayPublish(caller); err != nil {
		return report, err
	}
	if !postgres.ValidText(process) {
		return report, run.Refuse(run.NotFound, "no such process")
	}
	known, err := catalog.Get(ctx, s.Pool, caller.Org, process, 0)
	if err != nil {
		return report, err
	}
	if known == nil {
		return report, run.Refuse(run.NotFound, "no such process")
	}
	var since time.Time
	if span > 0 {
		since = time.Now().Add(-span).UTC()
		report.Since = &since
	}
	measures := map[measureKey]*CheckMeasure{}
	err = records.CheckedRuns(ctx, s.Pool, caller.Org, process, func(row records.Row) error {
		var r struct {
			Mode   run.Mode     `json:"mode"`
			Judged []run.Judged `json:"judged"`
		}
		if err := json.Unmarshal(row.Record, &r); err != nil {
			return fmt.Errorf("stored record: %w", err)
		}
		for _, j := range r.Judged {
			if r.Mode == run.Test || j.At.Before(since) {
				continue
			}
			for i, result := range j.Results {
				k := measureKey{j.Step, i, row.Version, j.Model, j.Advisory}
				if measures[k] == nil {
					measures[k] = &CheckMeasure{
						Step: k.step, Question: i + 1, Version: k.version, Model: k.model, Advisory: k.advisory,
						Decisions: map[run.Judgement]int{},
					}
				}
				measures[k].count(j, result)
			}
		}
		return nil
	})
	if err != nil {
		return report, err
	}
	for k, m := range measures {
		if err := s.name(ctx, caller.Org, process, k, m); err != nil {
			return report, err
		}
		report.Questions = append(report.Questions, m.finished())
	}
	slices.SortFunc(report.Questions, func(a, b CheckMeasure) int {
		return cmp.Or(-cmp.Compare(a.Version, b.Version), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Question, b.Question),
			cmp.Compare(a.Model, b.Model), cmp.Compare(fmt.Sprint(a.Advisory), fmt.Sprint(b.Advisory)))
	})
	return report, nil
}

// count adds one submission.
func (m *CheckMeasure) count(j run.Judged, result run.Result) {
	m.Asked++
	if j.Verdict == run.NotAnswered {
		m.NotAnswered++
		return
	}
	if j.Decided != "" {
		m.Decisions[j.Decided]++
	}
	accepted := j.Decided == run.JudgedApproved || j.Decided == run.JudgedCompleted
	decided := accepted || j.Decided == run.JudgedRejected || j.Decided == run.JudgedReturned || j.Decided == run.JudgedReplaced
	switch result {
	case run.Passes:
		m.Passed++
		if decided {
			m.Compared++
			if !accepted {
				m.FalsePasses++
			}
		}
	case run.Fails:
		m.Failed++
		if decided {
			m.Compared++
			if accepted {
				m.FalseFails++
			}
		}
	default:
		m.Unsure++
	}
}

// name says what was asked.
func (s *Service) name(ctx context.Context, org, process string, k measureKey, m *CheckMeasure) error {
	p, err := s.version(ctx, org, process, k.version)
	if err != nil {
		return err
	}
	if step := p.Step(k.step); step != nil && k.question < len(step.Check) {
		m.Ask, m.Kind = step.Check[k.question].Ask, run.KindOf(&step.Check[k.question])
	}
	return nil
}

func (m *CheckMeasure) finished() CheckMeasure {
	if answered := m.Asked - m.NotAnswered; answered > 0 {
		m.UnsureShare = float64(m.Unsure) / float64(answered)
	}
	m.Agreement = wilson(m.Compared-m.FalsePasses-m.FalseFails, m.Compared)
	return *m
}

// wilson is the share of n with its 95 % interval after Wilson, which holds for
// few cases, and for all or none of them, too.
func wilson(hits, n int) Share {
	s := Share{N: n}
	if n == 0 {
		return s
	}
	const z = 1.959963984540054
	p, count := float64(hits)/float64(n), float64(n)
	middle := (p + z*z/(2*count)) / (1 + z*z/count)
	half := z / (1 + z*z/count) * math.Sqrt(p*(1-p)/count+z*z/(4*count*count))
	low, high := math.Max(0, middle-half), math.Min(1, middle+half)
	s.Share, s.Low, s.High = &p, &low, &high
	return s
}
