package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// publish imports, binds and publishes the processes.
func (v *verifier) publish(ctx context.Context) error {
	for _, name := range sortedKeys(sources) {
		bound := map[string]string{}
		for _, role := range v.processes[name].Roles() {
			bound[role] = roles[role]
		}
		body, err := json.Marshal(bound)
		if err != nil {
			return err
		}
		for _, step := range []struct{ method, path, body string }{
			{http.MethodPost, "", sources[name]},
			{http.MethodPut, "/" + name + "/roles", string(body)},
			{http.MethodPost, "/" + name + "/publish", ""},
		} {
			if step.method == http.MethodPut && len(bound) == 0 {
				continue
			}
			if err := v.catalog(ctx, step.method, step.path, step.body); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *verifier) catalog(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, v.stack.URL+"/api/processes"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+v.reader.token)
	res, err := v.reader.http.Do(req)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close() // it has been read
	if err != nil {
		return err
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s /api/processes%s: %s: %s", method, path, res.Status, text)
	}
	return nil
}
