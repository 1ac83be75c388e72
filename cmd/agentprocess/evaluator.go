package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentprocess-temporal/server/evaluator/openai"
	"github.com/agentprocess-temporal/server/internal/server"
)

// evaluatorFlags say who answers the questions of checks.
type evaluatorFlags struct {
	url, model, keyFile string
	try                 time.Duration
}

const (
	evaluatorURL   = "AGENTPROCESS_EVALUATOR_URL"
	evaluatorModel = "AGENTPROCESS_EVALUATOR_MODEL"
	evaluatorKey   = "AGENTPROCESS_EVALUATOR_API_KEY"
)

func (f *evaluatorFlags) flags(fl *pflag.FlagSet) {
	fl.StringVar(&f.url, "evaluator-url", "", "base of an OpenAI-compatible API that answers checks, such as https://api.openai.com/v1 ("+evaluatorURL+"; default: no checks)")
	fl.StringVar(&f.model, "evaluator-model", "", "its model ("+evaluatorModel+")")
	fl.StringVar(&f.keyFile, "evaluator-api-key", "", "file with its key, where it needs one (or the key itself in "+evaluatorKey+")")
	fl.DurationVar(&f.try, "evaluator-timeout", 0, "how long one try of a check may take, in whole seconds (default 6s; there are two)")
}

// args are the flags again, for another command that has them.
func (f *evaluatorFlags) args() []string {
	var out []string
	for _, each := range []struct{ flag, value string }{
		{"--evaluator-url", f.url}, {"--evaluator-model", f.model}, {"--evaluator-api-key", f.keyFile},
	} {
		if each.value != "" {
			out = append(out, each.flag, each.value)
		}
	}
	if f.try != 0 {
		out = append(out, "--evaluator-timeout", f.try.String())
	}
	return out
}

// set configures the evaluator of a server, if there is one.
func (f *evaluatorFlags) set(o *server.Options) error {
	options := openai.Options{URL: f.url, Model: f.model}
	if options.URL == "" {
		options.URL = os.Getenv(evaluatorURL)
	}
	if options.Model == "" {
		options.Model = os.Getenv(evaluatorModel)
	}
	if f.try%time.Second != 0 {
		return misuse("--evaluator-timeout is in whole seconds")
	}
	o.CheckTry = f.try
	if options.URL == "" {
		if options.Model != "" || f.keyFile != "" {
			return misuse("an evaluator needs --evaluator-url (or %s)", evaluatorURL)
		}
		return nil
	}
	options.APIKey = os.Getenv(evaluatorKey)
	if f.keyFile != "" {
		key, err := os.ReadFile(f.keyFile)
		if err != nil { // its text has the name of the file, which may be a key given by mistake
			return errors.New("--evaluator-api-key names no file that can be read; put the key itself into " + evaluatorKey)
		}
		options.APIKey = strings.TrimSpace(string(key))
	}
	e, err := openai.New(options)
	if err != nil {
		return err
	}
	o.Evaluator = e
	return nil
}
