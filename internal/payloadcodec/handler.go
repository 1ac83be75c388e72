package payloadcodec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"go.temporal.io/sdk/converter"

	"github.com/agentprocess-temporal/server/identity"
	"github.com/agentprocess-temporal/server/identity/bearer"
)

// MaxBodyBytes bounds a request to [Handler]. Temporal moves at most 4 MiB of
// payloads in one message; in the request's base64 that is 5.4 MiB.
const MaxBodyBytes = 8 << 20

// Handler is Temporal's remote codec: `POST …/decode` and `POST …/encode`, for
// operators only. Mount it under a path of its own, such as /codec/.
//
// auth proves the caller and puts it in the request's context, as
// bearer.Middleware does; a request that it lets through without a caller is
// refused. A caller who is no operator is answered 403. Operators of every
// organization share the keys: what one may read is decided by what Temporal
// lets them see, so give organizations that must not see each other namespaces
// and keys of their own.
//
// allowedOrigins are those of the Temporal UIs that may call from a browser,
// such as [ParseOrigins] reads them; a request from any other page is answered
// 403, and one that names no origin (the CLI) is judged by its credential alone.
//
// What the operator sets, in the Temporal UI under the codec server's settings
// (the glasses in the top bar), or for everyone in the UI's own configuration:
//
//   - `Codec Server endpoint`: the address this handler is mounted at, without
//     /decode: https://agentprocess.example.com/codec. TEMPORAL_CODEC_ENDPOINT
//     for everyone.
//   - `Pass the user access token`: on. The UI then sends the token its user
//     signed in with, and only to an https endpoint, so auth has to accept the
//     tokens of the UI's issuer. TEMPORAL_CODEC_PASS_ACCESS_TOKEN=true for
//     everyone.
//   - `Include cross-origin credentials`: on only where a proxy in front of this
//     handler turns a login cookie into a bearer token; the handler itself
//     reads no cookie.
//
// A UI without sign-in, such as that of a development server, has no token to
// pass; there use the CLI, which takes any:
//
//	temporal workflow show -w ID --codec-endpoint http://127.0.0.1:8080/codec --codec-auth "Bearer $TOKEN"
func Handler(codec converter.PayloadCodec, auth func(http.Handler) http.Handler, allowedOrigins []string) http.Handler {
	return allowOrigins(allowedOrigins, auth(operatorsOnly(limitBody(converter.NewPayloadCodecHTTPHandler(codec)))))
}

func operatorsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if caller, ok := bearer.From(r.Context()); !ok || !caller.Operator {
			bearer.Insufficient(r.Context(), w, identity.Operate)
			refuse(w, http.StatusForbidden, "forbidden")
			return
		}
		// What follows is plain business data.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// limitBody reads the body, as next would all the same: to answer 413 where it
// would say 400.
func limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
		var tooLarge *http.MaxBytesError
		switch {
		case errors.As(err, &tooLarge):
			refuse(w, http.StatusRequestEntityTooLarge, "too_large")
		case err != nil:
			refuse(w, http.StatusBadRequest, "unreadable")
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "{\"error\":%q}\n", code) // who hung up needs no answer
}
