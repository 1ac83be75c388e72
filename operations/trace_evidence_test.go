package operations_test

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	. "github.com/agentprocess-temporal/server/internal/servertest"
	"github.com/agentprocess-temporal/server/run"
)

func traceEvidence(w world) {
	w.run("upload tells the id, the hash and the size", func(w world) {
		r := read[struct {
			ID, SHA256 string
			Bytes      int
		}](w.t, w.ok(Mira, "upload", uploadArgs("ünï\x00")))
		sum := sha256.Sum256([]byte("ünï\x00"))
		require.Equal(w.t, hex.EncodeToString(sum[:]), r.SHA256)
		require.Equal(w.t, len("ünï\x00"), r.Bytes)
		require.NotEqual(w.t, r.ID, w.upload(Mira, "ünï\x00"), "another upload of the same is another file")
	})
	w.run("what is no base64 is invalid", func(w world) {
		for _, content := range []string{"", "=", "a", "ab", "abc", "YQ", "YQ==\n", "Y Q==", "YR==", "YQ===", "_-_-", "é"} {
			args := uploadArgs("x")
			args["contentBase64"] = content
			w.refusedAs(run.Invalid, A1, "upload", args, "contentBase64:")
		}
	})
	w.run("each file item carries the hash and a url that opens it, wherever run data is returned", func(w world) {
		id := w.start("screening", Args{"vendor": "x"})
		args := uploadArgs("the <report>")
		args["fileName"], args["contentType"] = "../bericht \"ü\".html", "text/html"
		file := read[struct{ ID, SHA256 string }](w.t, w.ok(A1, "upload", args))
		evidence := []Args{{"kind": "link", "ref": "https://example.com/\u0000"}, {"kind": "file", "ref": file.ID}}
		v := w.view(A1, "submit", w.screened(A1, w.claim(A1, id, "screen").Token, Args{"evidence": evidence}))
		items := v.Data.Steps["screen"].Evidence
		require.Len(w.t, items, 2)
		require.Equal(w.t, run.Evidence{Kind: "link", Ref: "https://example.com/\u0000"}, items[0], "recorded as stated")
		require.Equal(w.t, file.ID, items[1].Ref)
		require.Equal(w.t, file.SHA256, items[1].SHA256)
		for name, url := range map[string]string{
			"submit":  items[1].URL,
			"get_run": w.get(id).Data.Steps["screen"].Evidence[1].URL,
		} {
			res, err := http.Get(url) //nolint:noctx // a link that a person opens
			require.NoError(w.t, err)
			content, err := io.ReadAll(res.Body)
			require.NoError(w.t, err)
			_ = res.Body.Close()
			require.Equal(w.t, 200, res.StatusCode, name)
			require.Equal(w.t, "the <report>", string(content))
			require.True(w.t, strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment;"))
			require.Equal(w.t, "application/octet-stream", res.Header.Get("Content-Type"), "nothing a browser would run")
			require.Equal(w.t, "nosniff", res.Header.Get("X-Content-Type-Options"))
		}
		v = w.decide(Mira, id, "rejected", Args{"note": "x"})
		require.NotEmpty(w.t, v.Data.Steps["screen"].History[0].Evidence[1].URL, "in history, too")
		require.NotEmpty(w.t, w.claim(A2, id, "screen").Data.Steps["screen"].History[0].Evidence[1].URL)
	})
	w.run("a snapshot does not change with the urls", func(w world) {
		id := w.toApproval()
		require.Equal(w.t, w.item(id).Snapshot, w.item(id).Snapshot)
		w.decide(Mira, id, "approved")
	})
	w.run("a url of another file, changed or without its signature opens nothing", func(w world) {
		id := w.toApproval()
		url := w.get(id).Data.Steps["screen"].Evidence[0].URL
		base, query, _ := strings.Cut(url, "?")
		for _, bad := range []string{base, base + "x?" + query, strings.Replace(url, "o=acme", "o=other", 1), url[:len(url)-2]} {
			res, err := http.Get(bad) //nolint:noctx // a link that a person opens
			require.NoError(w.t, err)
			_ = res.Body.Close()
			require.Equal(w.t, 404, res.StatusCode, bad)
		}
	})
	w.run("a file whose stored bytes changed is not accepted, one that is gone is not found", func(w world) {
		id := w.start("screening", Args{"vendor": "x"})
		token := w.claim(A1, id, "screen").Token
		good, tampered, gone := w.upload(A1, "good"), w.upload(A1, "original"), w.upload(A1, "gone")
		pool := w.s.Pool()
		_, err := pool.Exec(w.t.Context(), `UPDATE files SET content = 'ORIGINAL' WHERE id = $1`, tampered)
		require.NoError(w.t, err)
		_, err = pool.Exec(w.t.Context(), `DELETE FROM files WHERE id = $1`, gone)
		require.NoError(w.t, err)
		file := func(ref string) Args { return Args{"kind": "file", "ref": ref} }
		w.refusedAs(run.NotAccepted, A1, "submit", w.screened(A1, token, Args{"evidence": []Args{file(good), file(tampered), file(gone), file("\x00"), file(gone)}}),
			"evidence "+tampered+": ", "evidence "+gone+": not found", "evidence \x00: not found")
		w.ok(A1, "submit", w.screened(A1, token, Args{"evidence": []Args{file(good), file(good)}}))
	})
	w.run("a file may be another's, and cited by several runs", func(w world) {
		file := []Args{{"kind": "file", "ref": w.upload(Lena, "shared")}}
		for range 2 {
			id := w.start("screening", Args{"vendor": "x"})
			w.ok(A1, "submit", w.screened(A1, w.claim(A1, id, "screen").Token, Args{"evidence": file}))
		}
	})
}
