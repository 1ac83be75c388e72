package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/agentprocess-temporal/server/evaluator"
)

// Options say which endpoint answers, and with which model.
type Options struct {
	// URL is the base of the API, such as https://api.openai.com/v1 or
	// http://127.0.0.1:11434/v1.
	URL string
	// Model is the model's name there.
	Model string
	// APIKey may be empty where the endpoint needs none. It goes into the header
	// of requests and nowhere else.
	APIKey string
}

// Evaluator asks one model. It implements evaluator.Evaluator.
type Evaluator struct {
	model string
	chat  sdk.ChatCompletionService
	// plain is set once the endpoint refused what not every model takes (log
	// probabilities, a temperature, a bound on tokens) and answered without.
	plain atomic.Bool
	// stated is set once the endpoint left log probabilities out, or refused them.
	stated atomic.Bool
	// full and tokens are set once the endpoint took the request in full, and gave
	// log probabilities of yes and no. From then on one answer without is only that.
	full, tokens atomic.Bool
	// elsewise counts first tokens that were neither, while none was.
	elsewise atomic.Int32
}

// thinks is how many first tokens that are neither yes nor no, in a row from the
// first, are those of a model that thinks before it answers.
const thinks = 3

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 1 << 20

// New makes an evaluator. It does not call the endpoint. The environment of the
// process is not looked at.
func New(o Options) (*Evaluator, error) {
	u, err := url.Parse(o.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("evaluator: the URL must look like https://api.example.com/v1")
	}
	if u.User != nil {
		return nil, errors.New("evaluator: put no password into the URL; there is a key for that")
	}
	if strings.TrimSpace(o.Model) == "" {
		return nil, errors.New("evaluator: say which model")
	}
	options := []option.RequestOption{
		option.WithBaseURL(o.URL),
		option.WithMaxRetries(0), // the activity is tried again, and shows that it was
		option.WithHTTPClient(&http.Client{
			Transport: bounded{http.DefaultTransport},
			// A redirect would take the key and the submission elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	return &Evaluator{model: o.Model, chat: sdk.NewChatCompletionService(options...)}, nil
}

// bounded cuts answers off that are too long to be any.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, maxAnswer), res.Body}
	return res, nil
}

// errUnsupported is the refusal of a request that another form of may be accepted.
var errUnsupported = &evaluator.Error{Reason: "the endpoint refused the request"}

// send sends one request and returns the one choice of its answer.
func (e *Evaluator) send(ctx context.Context, p sdk.ChatCompletionNewParams, more ...option.RequestOption) (sdk.ChatCompletionChoice, string, error) {
	p.Model = e.model
	res, err := e.chat.New(ctx, p, more...)
	if err != nil {
		return sdk.ChatCompletionChoice{}, "", failure(ctx, err)
	}
	if len(res.Choices) != 1 {
		return sdk.ChatCompletionChoice{}, "", &evaluator.Error{Reason: fmt.Sprintf("the endpoint gave %d answers, not one", len(res.Choices))}
	}
	choice := res.Choices[0]
	if choice.Message.Refusal != "" || choice.FinishReason == "content_filter" {
		return choice, "", &evaluator.Error{Reason: "the model declined to answer"}
	}
	model := res.Model
	if strings.TrimSpace(model) == "" {
		model = e.model
	}
	return choice, model, nil
}

// inForm sends a request in the form that says most, and in the plain one where
// the endpoint refuses that, or where the model thinks for longer than an answer
// may be.
func (e *Evaluator) inForm(ctx context.Context, p sdk.ChatCompletionNewParams, tokens int) (sdk.ChatCompletionChoice, string, error) {
	if !e.plain.Load() {
		full := p
		full.Temperature = param.NewOpt(0.0)
		choice, model, err := e.send(ctx, full, maxTokens(tokens))
		cut := err == nil && choice.FinishReason == cutOff
		if err == nil && !cut {
			e.full.Store(true)
		}
		if !cut && !errors.Is(err, errUnsupported) {
			return choice, model, err
		}
	}
	choice, model, err := e.send(ctx, p)
	if err == nil && choice.FinishReason != cutOff && !e.full.Load() {
		e.plain.Store(true)
	}
	return choice, model, err
}

// cutOff is how an endpoint says that an answer reached its bound.
const cutOff = "length"

// maxTokens bounds an answer under the name that every endpoint knows. Endpoints
// that count thinking towards a bound refuse it, or let the thinking use it up; they
// are then asked without.
func maxTokens(n int) option.RequestOption { return option.WithJSONSet("max_tokens", n) }

// failure makes an error of what went wrong that tells neither the key nor what
// was sent.
func failure(ctx context.Context, err error) error {
	var api *sdk.Error
	var unreached *url.Error
	switch {
	case ctx.Err() != nil:
		return &evaluator.Error{Reason: "the endpoint did not answer in time"}
	case errors.As(err, &api) && (api.StatusCode == http.StatusBadRequest || api.StatusCode == http.StatusUnprocessableEntity):
		return errUnsupported
	case errors.As(err, &api):
		return &evaluator.Error{Reason: fmt.Sprintf("the endpoint answered %d %s", api.StatusCode, http.StatusText(api.StatusCode))}
	case errors.As(err, &unreached):
		return &evaluator.Error{Reason: "the endpoint cannot be reached: " + unreached.Err.Error()}
	}
	return &evaluator.Error{Reason: "the endpoint's answer cannot be read"}
}
