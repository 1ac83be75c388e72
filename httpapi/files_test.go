package httpapi_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/agentprocess-temporal/server/files"
	"github.com/agentprocess-temporal/server/httpapi"
	"github.com/agentprocess-temporal/server/internal/keyring"
	"github.com/agentprocess-temporal/server/internal/testenv"
)

// store is a file server with a database of its own.
type store struct {
	*httptest.Server
	pool  *pgxpool.Pool
	links files.Links
}

func storeFiles(t *testing.T) *store {
	t.Helper()
	ring, err := keyring.New("k1", map[string][]byte{"k1": bytes.Repeat([]byte("k1"), 16)})
	require.NoError(t, err)
	s := &store{pool: testenv.Pool(t), links: files.Links{Ring: ring}}
	mux := http.NewServeMux()
	mux.Handle("/files/", httpapi.Files(s.pool, s.links))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	s.links.Base = s.URL
	return s
}

func (s *store) put(t *testing.T, id, name, contentType string, content []byte) {
	t.Helper()
	sum := sha256.Sum256(content)
	b := &pgx.Batch{}
	files.QueuePut(b, files.File{Org: "acme", ID: id, Name: name, ContentType: contentType,
		SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content)), By: "a1"}, content)
	require.NoError(t, s.pool.SendBatch(t.Context(), b).Close())
}

// download is an answer under /files/.
type download struct {
	status int
	length int64
	header http.Header
	text   string
}

func (s *store) do(t *testing.T, method, link string, header ...string) download {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, link, http.NoBody)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := s.Client().Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
	require.Equal(t, "sandbox; default-src 'none'", res.Header.Get("Content-Security-Policy"))
	require.Equal(t, "no-referrer", res.Header.Get("Referrer-Policy"))
	require.Contains(t, res.Header.Get("Cache-Control"), "private")
	return download{res.StatusCode, res.ContentLength, res.Header, string(text)}
}

func TestAFileIsServedByteForByteAsAnAttachment(t *testing.T) {
	s := storeFiles(t)
	content := []byte("%PDF-1.7\x00\xff\r\n")
	s.put(t, "f_1", "report.pdf", "application/pdf", content)
	s.put(t, "f_empty", "empty.txt", "text/plain", nil)
	link := s.links.URL("acme", "f_1", time.Now())

	res := s.do(t, "GET", link)
	require.Equal(t, http.StatusOK, res.status, res.text)
	require.Equal(t, string(content), res.text)
	require.Equal(t, "application/pdf", res.header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="report.pdf"; filename*=UTF-8''report.pdf`, res.header.Get("Content-Disposition"))
	require.EqualValues(t, len(content), res.length)
	etag := res.header.Get("ETag")
	require.NotEmpty(t, etag)

	res = s.do(t, "HEAD", link)
	require.Equal(t, http.StatusOK, res.status)
	require.Empty(t, res.text)
	require.EqualValues(t, len(content), res.length)
	require.Equal(t, "application/pdf", res.header.Get("Content-Type"))

	res = s.do(t, "GET", link, "Range", "bytes=1-3")
	require.Equal(t, http.StatusPartialContent, res.status)
	require.Equal(t, "PDF", res.text)

	res = s.do(t, "GET", link, "If-None-Match", etag)
	require.Equal(t, http.StatusNotModified, res.status)

	res = s.do(t, "GET", s.links.URL("acme", "f_empty", time.Now()))
	require.Equal(t, http.StatusOK, res.status)
	require.Empty(t, res.text)
}

func TestALinkThatOpensNothingIsAnsweredInOneWay(t *testing.T) {
	s := storeFiles(t)
	s.put(t, "f_1", "a.txt", "text/plain", []byte("secret"))
	good := s.links.URL("acme", "f_1", time.Now())
	var first string
	for name, link := range map[string]string{
		"expired":              s.links.URL("acme", "f_1", time.Now().Add(-time.Hour)),
		"unsigned":             s.URL + "/files/f_1",
		"a changed signature":  good + "A",
		"another file":         strings.Replace(good, "f_1", "f_2", 1),
		"another organization": strings.Replace(good, "o=acme", "o=globex", 1),
		"a file that is gone":  s.links.URL("acme", "f_gone", time.Now()),
		"a file of another":    s.links.URL("globex", "f_1", time.Now()),
		"no file":              s.URL + "/files/",
	} {
		res := s.do(t, "GET", link)
		require.Equal(t, http.StatusNotFound, res.status, name)
		if first == "" {
			first = res.text
		}
		require.Equal(t, first, res.text, name)
		require.NotContains(t, res.text, "secret")
	}
	res := s.do(t, "GET", good)
	require.Equal(t, http.StatusOK, res.status)
	res = s.do(t, "POST", good)
	require.Equal(t, http.StatusMethodNotAllowed, res.status)
	require.Equal(t, "GET, HEAD", res.header.Get("Allow"))
}

func TestBytesThatChangedInStorageAreNotServed(t *testing.T) {
	s := storeFiles(t)
	s.put(t, "f_1", "a.txt", "text/plain", []byte("as uploaded"))
	_, err := s.pool.Exec(t.Context(), `UPDATE files SET content = 'tampered with' WHERE id = 'f_1'`)
	require.NoError(t, err)
	for _, method := range []string{"GET", "HEAD"} {
		res := s.do(t, method, s.links.URL("acme", "f_1", time.Now()))
		require.Equal(t, http.StatusInternalServerError, res.status)
		require.NotContains(t, res.text, "tampered")
		require.Empty(t, res.header.Get("Content-Disposition"))
	}
}

func TestAFileStoreThatIsAwayIsRetried(t *testing.T) {
	s := storeFiles(t)
	s.pool.Close()
	res := s.do(t, "GET", s.links.URL("acme", "f_1", time.Now()))
	require.Equal(t, http.StatusServiceUnavailable, res.status)
	require.NotEmpty(t, res.header.Get("Retry-After"))
	require.NotContains(t, res.text, "pool")
}

func TestOnlyHarmlessContentTypesArePassedOn(t *testing.T) {
	s := storeFiles(t)
	const unknown = "application/octet-stream"
	for i, c := range []struct{ said, content, want string }{
		{"text/plain", "naïve", "text/plain; charset=utf-8"},
		{"text/plain", "na\xefve", "text/plain"},
		{"Text/CSV; charset=latin1; header=present", "a,b", "text/csv; charset=utf-8"},
		{"IMAGE/PNG", "x", "image/png"},
		{"application/json", "{}", "application/json"},
		{"text/html", "<script>", unknown},
		{"application/xhtml+xml", "x", unknown},
		{"image/svg+xml", "<svg/>", unknown},
		{"text/xml", "x", unknown},
		{"application/javascript", "x", unknown},
		{"application/x-msdownload", "MZ", unknown},
		{"text/plain, text/html", "x", unknown},
		{"text/plain\r\nSet-Cookie: a=b", "x", unknown},
		{"multipart/x-mixed-replace; boundary=x", "x", unknown},
		{"", "x", unknown},
		{"\x00", "x", unknown},
	} {
		id := "f_" + string(rune('a'+i))
		s.put(t, id, "a", c.said, []byte(c.content))
		res := s.do(t, "GET", s.links.URL("acme", id, time.Now()))
		require.Equal(t, http.StatusOK, res.status)
		require.Equal(t, c.want, res.header.Get("Content-Type"), "%q", c.said)
		require.Equal(t, c.content, res.text)
		require.Empty(t, res.header.Get("Set-Cookie"))
	}
}

func TestHostileFileNamesAreHarmlessInTheHeader(t *testing.T) {
	s := storeFiles(t)
	long := strings.Repeat("é", 300)
	for i, c := range []struct{ name, want, plain string }{
		{"Angebot März.pdf", "Angebot März.pdf", "Angebot M_rz.pdf"},
		{"報告 (1).docx", "報告 (1).docx", "__ (1).docx"},
		{`a"; filename="evil.exe`, `a_; filename=_evil.exe`, `a_; filename=_evil.exe`},
		{"a\r\nSet-Cookie: a=b", "a  Set-Cookie_ a=b", "a  Set-Cookie_ a=b"},
		{"../../etc/passwd", "_.._etc_passwd", "_.._etc_passwd"},
		{`C:\temp\x.txt`, "C__temp_x.txt", "C__temp_x.txt"},
		{".bashrc", "bashrc", "bashrc"},
		{"invoice\u202egpj.exe", "invoicegpj.exe", "invoicegpj.exe"},
		{"100%41.txt", "100%41.txt", "100_41.txt"},
		{"it's*.txt", "it's_.txt", "it's_.txt"},
		{"a\x00b\x7f.txt", "ab.txt", "ab.txt"},
		{"bad\xffutf8", "bad_utf8", "bad_utf8"},
		{"con. . .", "con", "con"},
		{"", "file", "file"},
		{"///", "___", "___"},
		{" .. ", "file", "file"},
		{long + ".pdf", long[:236] + ".pdf", strings.Repeat("_", 118) + ".pdf"},
		{"a." + long, "a." + long[:238], "a." + strings.Repeat("_", 119)},
	} {
		id := "f_" + string(rune('a'+i))
		s.put(t, id, c.name, "text/plain", []byte("x"))
		res := s.do(t, "GET", s.links.URL("acme", id, time.Now()))
		require.Equal(t, http.StatusOK, res.status)
		require.Empty(t, res.header.Get("Set-Cookie"))
		header := res.header.Get("Content-Disposition")
		plain, extended, ok := strings.Cut(header, "; filename*=")
		require.True(t, ok, header)

		kind, got, err := mime.ParseMediaType("attachment; filename*=" + extended)
		require.NoError(t, err, header)
		require.Equal(t, "attachment", kind)
		require.Equal(t, map[string]string{"filename": c.want}, got)
		_, got, err = mime.ParseMediaType(plain)
		require.NoError(t, err, header)
		require.Equal(t, map[string]string{"filename": c.plain}, got)
	}
}
