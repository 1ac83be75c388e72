package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Type is a field type (spec §2.3).
type Type string

// The field types.
const (
	String   Type = "string"
	Number   Type = "number"
	Boolean  Type = "boolean"
	Date     Type = "date"
	Datetime Type = "datetime"
	List     Type = "list"
	Object   Type = "object"
	Person   Type = "person"
)

// Field is one declared input or output field (spec §2.3).
type Field struct {
	// Name is empty for the items of a list.
	Name        string
	Type        Type
	Description string
	Optional    bool
	// OneOf holds the allowed values in file order; nil means any.
	OneOf []json.RawMessage
	// Items is what a list holds; nil means anything, and on every other type.
	Items *Field

	// declared is the declaration as the file has it, the short form included.
	declared json.RawMessage
	// allowed holds the identity of each value in OneOf.
	allowed map[string]bool
}

// Fields are the fields of `inputs` or `output`, in file order. They marshal to
// a JSON object in that order, each field exactly as it was declared, and
// unmarshal from it.
type Fields []Field

// Field returns the field with this name, or nil.
func (fs Fields) Field(name string) *Field {
	for i := range fs {
		if fs[i].Name == name {
			return &fs[i]
		}
	}
	return nil
}

// MarshalJSON writes the declarations. Fields that were built by hand, and so
// were never declared, are written in the shortest form.
func (fs Fields) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range fs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, fs[i].Name), ':')
		b = append(b, fs[i].declaration()...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads declarations that MarshalJSON wrote, and refuses others
// that break the rules of spec §2.3.
func (fs *Fields) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		*fs = nil
		return nil
	}
	var twice error
	n, err := parseJSON(raw, func(path string) { twice = fmt.Errorf("process: field declared twice at %s", path) })
	if err = errors.Join(err, twice); err != nil {
		return err
	}
	var r report
	fields := r.fields(n, "fields")
	if len(r.issues) > 0 {
		return fmt.Errorf("process: %s", r.issues[0].Message)
	}
	*fs = fields
	return nil
}

// declaration is the JSON of what stands behind the field's name.
func (f *Field) declaration() json.RawMessage {
	if f.declared != nil {
		return f.declared
	}
	if f.Description == "" && !f.Optional && f.OneOf == nil && f.Items == nil {
		return appendString(nil, string(f.Type))
	}
	b := appendString([]byte(`{"type":`), string(f.Type))
	if f.Description != "" {
		b = appendString(append(b, `,"description":`...), f.Description)
	}
	if f.Optional {
		b = append(b, `,"optional":true`...)
	}
	for i, v := range f.OneOf {
		if i == 0 {
			b = append(b, `,"one_of":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, v...)
		if i == len(f.OneOf)-1 {
			b = append(b, ']')
		}
	}
	if f.Items != nil {
		b = append(append(b, `,"items":`...), f.Items.declaration()...)
	}
	return append(b, '}')
}

// allows reports whether one_of, if there is one, lists the value.
func (f *Field) allows(n *node) bool {
	if f.OneOf == nil {
		return true
	}
	if f.allowed != nil {
		return f.allowed[n.identity()]
	}
	// A field that was built by hand.
	return slices.ContainsFunc(f.OneOf, func(choice json.RawMessage) bool {
		c, err := parseJSON(choice, func(string) {})
		return err == nil && c.identity() == n.identity()
	})
}

// choices lists one_of for a message; a very long list is cut.
func (f *Field) choices() string {
	const most = 1000
	var b strings.Builder
	for i, choice := range f.OneOf {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > most {
			return b.String() + "…"
		}
		if n, err := parseJSON(choice, func(string) {}); err == nil && n.shape == stringNode {
			b.WriteString(n.text)
		} else {
			b.Write(choice)
		}
	}
	return b.String()
}
