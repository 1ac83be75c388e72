package openai

import (
	"context"
	"encoding/json"
	"strconv"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentprocess-temporal/server/evaluator"
	"github.com/agentprocess-temporal/server/internal/canonical"
	"github.com/agentprocess-temporal/server/process"
)

// answerTokens bounds an answer in a form, the name of a choice apart.
const answerTokens = 300

type schema map[string]any

type field struct {
	name   string
	schema schema
}

// form is what an answer must look like.
type form struct {
	word   string
	name   string
	fields []field
	// longest is the most that a text in it may have, in bytes, of which a token
	// is one at least.
	longest int
}

// schema is the form as JSON Schema. The word is no part of it: an endpoint that
// holds a model to the schema would fill it in, whatever text the answer came
// from. Properties stand in the order in which they are to be written, the word
// before the answer and the answer before how sure it is of it: many endpoints
// have the model write them so.
func (f form) schema() schema {
	properties := inOrder{{"for", schema{"type": "string"}}}
	properties = append(properties, f.fields...)
	required := make([]string, len(properties))
	for i, each := range properties {
		required[i] = each.name
	}
	return schema{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// inOrder is a JSON object that keeps the order of its fields.
type inOrder []field

// MarshalJSON implements json.Marshaler.
func (o inOrder) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, each := range o {
		name, err := json.Marshal(each.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(each.schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

var errForm = &evaluator.Error{Reason: "the answer is not in the form asked for"}

// structured asks for an answer in a form, and holds it to the form: exactly its
// fields, once each, and the word of this call.
func (e *Evaluator) structured(ctx context.Context, m evaluator.Material, question string, f form) (map[string]json.RawMessage, string, error) {
	content, err := messages(m, question)
	if err != nil {
		return nil, "", err
	}
	choice, model, err := e.inForm(ctx, sdk.ChatCompletionNewParams{
		Messages: content,
		ResponseFormat: sdk.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: f.name, Strict: param.NewOpt(true), Schema: f.schema()},
		}},
	}, answerTokens+f.longest)
	if err != nil {
		return nil, "", err
	}
	answer, err := f.read(choice)
	return answer, model, err
}

func (f form) read(choice sdk.ChatCompletionChoice) (map[string]json.RawMessage, error) {
	text := []byte(choice.Message.Content)
	var answer map[string]json.RawMessage
	if choice.FinishReason != "stop" || len(canonical.Problems(text)) > 0 || json.Unmarshal(text, &answer) != nil {
		return nil, errForm
	}
	var word string
	if len(answer) != len(f.fields)+1 || json.Unmarshal(answer["for"], &word) != nil || word != f.word {
		return nil, errForm
	}
	for _, each := range f.fields {
		if len(answer[each.name]) == 0 {
			return nil, errForm
		}
	}
	return answer, nil
}

// number reads a share. Its bounds are the caller's to check.
func number(raw json.RawMessage) (float64, error) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return 0, errForm
	}
	return f, nil
}

// Choose implements evaluator.Evaluator.
func (e *Evaluator) Choose(ctx context.Context, m evaluator.Material, ask string, among []process.Choice) (evaluator.Chosen, error) {
	w := word()
	names, texts := make([]string, len(among)), make([]string, len(among))
	for i, c := range among {
		names[i], texts[i] = strconv.Quote(c.Name), c.Text
	}
	enum := make([]string, len(among))
	longest := 0
	for i, c := range among {
		enum[i] = c.Name
		longest = max(longest, len(names[i]))
	}
	f := form{word: w, name: "choice", longest: longest, fields: []field{{"answer", schema{"type": "string", "enum": enum}}, {"confidence", schema{"type": "number"}}}}
	answer, model, err := e.structured(ctx, m, asked(ask)+"\n\n"+listed("The answers there are, by name:", names, texts)+"\n\n"+
		answerForm(w, `"answer" is the name of the answer; `+confidenceField), f)
	if err != nil {
		return evaluator.Chosen{}, err
	}
	chosen := evaluator.Chosen{Model: model}
	if json.Unmarshal(answer["answer"], &chosen.Name) != nil {
		return chosen, errForm
	}
	chosen.Confidence, err = number(answer["confidence"])
	return chosen, err
}

// Grade implements evaluator.Evaluator.
func (e *Evaluator) Grade(ctx context.Context, m evaluator.Material, ask string, levels []string) (evaluator.Graded, error) {
	w := word()
	names, enum := make([]string, len(levels)), make([]int, len(levels))
	for i := range levels {
		names[i], enum[i] = strconv.Itoa(i), i
	}
	f := form{word: w, name: "rubric", fields: []field{{"level", schema{"type": "integer", "enum": enum}}, {"confidence", schema{"type": "number"}}}}
	answer, model, err := e.structured(ctx, m, asked(ask)+"\n\n"+listed("The levels, from worst to best, by number:", names, levels)+"\n\n"+
		answerForm(w, `"level" is the number of the highest level that the submission reaches; `+confidenceField), f)
	if err != nil {
		return evaluator.Graded{}, err
	}
	graded := evaluator.Graded{Model: model}
	if graded.Level, err = strconv.Atoi(string(answer["level"])); err != nil {
		return graded, errForm
	}
	graded.Confidence, err = number(answer["confidence"])
	return graded, err
}
