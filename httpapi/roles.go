package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// readRoles reads a JSON object of texts, strictly: each role once, nothing but
// texts, nothing after the object. It returns every issue.
func readRoles(raw []byte) (roles map[string]string, issues []string) {
	if !utf8.Valid(raw) {
		return nil, []string{"the body is not UTF-8"}
	}
	broken := []string{"the body is not one JSON object"}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, broken
	}
	roles = map[string]string{}
	for dec.More() {
		key, err := dec.Token()
		role, ok := key.(string)
		if err != nil || !ok {
			return nil, broken
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, broken
		}
		var group string
		if value[0] != '"' || json.Unmarshal(value, &group) != nil {
			issues = append(issues, fmt.Sprintf("%q: the group must be a text", role))
		}
		if _, twice := roles[role]; twice {
			issues = append(issues, fmt.Sprintf("%q: given twice", role))
		}
		roles[role] = group
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, broken
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, broken
	}
	if len(roles) == 0 {
		issues = append(issues, "there is no role to bind in the body")
	}
	return roles, issues
}
