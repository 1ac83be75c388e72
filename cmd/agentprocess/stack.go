package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentprocess-temporal/server/internal/stack"
)

// stackOperator is who the catalog commands are in a development stack that has
// the default directory.
const stackOperator = "person:ops@example.com"

// readStack reads what a development stack says of itself.
func readStack(dir string) (*stack.Info, error) {
	path := filepath.Join(dir, stack.InfoFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no development stack in %s; start one with: agentprocess dev --data %s", dir, dir)
	}
	if err != nil {
		return nil, err
	}
	var info stack.Info
	if err := json.Unmarshal(text, &info); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &info, nil
}

// stackClient talks to a development stack, as somebody of its directory.
func stackClient(dir, as string) (*apiClient, error) {
	info, err := readStack(dir)
	if err != nil {
		return nil, err
	}
	if info.API == "" {
		return nil, fmt.Errorf("%s names no API", filepath.Join(dir, stack.InfoFile))
	}
	if as == "" {
		if as, err = mayPublish(info.Tokens); err != nil {
			return nil, err
		}
	}
	token, err := tokenOf(info, as)
	if err != nil {
		return nil, err
	}
	c := newClient(strings.TrimRight(info.API, "/"), token)
	c.hint = "; is the development stack in " + dir + " running?"
	return c, nil
}

// tokenOf returns the token of an identity. People are found in any case, as
// everywhere.
func tokenOf(info *stack.Info, as string) (string, error) {
	for _, id := range []string{as, strings.ToLower(as)} {
		if token, ok := info.Tokens[id]; ok {
			return token, nil
		}
	}
	return "", &issuesError{
		message: fmt.Sprintf("the development stack knows nobody called %q; it knows:", as),
		issues:  slices.Sorted(maps.Keys(info.Tokens)),
	}
}

// mayPublish picks somebody who may do what the catalog commands do: operators
// rather than publishers, who may not delete runs.
func mayPublish(tokens map[string]string) (string, error) {
	if _, ok := tokens[stackOperator]; ok {
		return stackOperator, nil
	}
	publisher := ""
	for _, id := range slices.Sorted(maps.Keys(tokens)) {
		claims := claimsOf(tokens[id])
		if claims.Operator {
			return id, nil
		}
		if claims.Publisher && publisher == "" {
			publisher = id
		}
	}
	if publisher == "" {
		return "", errors.New("the development stack has neither an operator nor a publisher: give its directory one, or say who to be with --as")
	}
	return publisher, nil
}

type claims struct{ Operator, Publisher bool }

// claimsOf reads a token without proving it: the server does that.
func claimsOf(token string) (c claims) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return claims{}
	}
	if text, err := base64.RawURLEncoding.DecodeString(parts[1]); err != nil || json.Unmarshal(text, &c) != nil {
		return claims{}
	}
	return c
}
