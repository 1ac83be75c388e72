// Package openai is an evaluator on any endpoint that speaks OpenAI's chat
// completions: hosted models, vLLM, Ollama, llama.cpp.
//
// Yes or no is read from the probabilities of the first token where the endpoint
// gives them, else from an answer that states one. Choices and levels are answers
// in a form that the request prescribes. Each such answer repeats a word that only
// this call knows, so text in a submission that looks like an answer is none, even
// where a model repeats it.
//
// Start at [New]. It may import evaluator, process, internal/canonical and the SDK.
package openai
