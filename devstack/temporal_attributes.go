package devstack

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// ensureSearchAttributes adds those that the namespace lacks: the dev server's
// own flag registers them for a new database only.
func ensureSearchAttributes(ctx context.Context, c client.Client, namespace string, want map[string]string) error {
	if len(want) == 0 {
		return nil
	}
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, typ := range want {
		t, err := enumspb.IndexedValueTypeFromString(typ)
		if err != nil {
			return &permanentError{fmt.Errorf("search attribute %s: %w", name, err)}
		}
		switch was, ok := have.CustomAttributes[name]; {
		case !ok:
			missing[name] = t
		case was != t:
			return &permanentError{fmt.Errorf("search attribute %s is a %s, not a %s", name, was, t)}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: missing,
	})
	return err
}

// permanentError marks what waiting does not mend.
type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

func permanent(err error) bool {
	var mine *permanentError
	var argument *serviceerror.InvalidArgument
	return errors.As(err, &mine) || errors.As(err, &argument)
}

// silent drops the SDK's messages: a client that waits for a server that is
// only starting has nothing to report.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
