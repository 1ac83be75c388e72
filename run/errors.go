package run

import "strings"

// Code is one of the seven error codes of the protocol (spec §4.3).
type Code string

// The error codes.
const (
	Invalid     Code = "invalid"
	NotAccepted Code = "not_accepted"
	Stale       Code = "stale"
	Conflict    Code = "conflict"
	Forbidden   Code = "forbidden"
	NotFound    Code = "not_found"
	Retry       Code = "retry"
)

// Error is an error of the protocol, as a caller sees it. It never carries
// internals: those are logged where they happen.
type Error struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"`
	Issues  []string `json:"issues,omitempty"`
}

// Error implements error.
func (e *Error) Error() string {
	if len(e.Issues) == 0 {
		return string(e.Code) + ": " + e.Message
	}
	return string(e.Code) + ": " + e.Message + " (" + strings.Join(e.Issues, "; ") + ")"
}

// Refuse builds an Error.
func Refuse(code Code, message string, issues ...string) *Error {
	return &Error{Code: code, Message: message, Issues: issues}
}
