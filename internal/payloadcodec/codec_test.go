package payloadcodec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"

	"github.com/agentprocess-temporal/server/internal/payloadcodec"
)

func plain(data string) *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{"encoding": []byte("json/plain"), "note": []byte("top secret")},
		Data:     []byte(data),
	}
}

func encrypted(t testing.TB, c converter.PayloadCodec, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	out, err := c.Encode([]*commonpb.Payload{p})
	require.NoError(t, err)
	require.Len(t, out, 1)
	return out[0]
}

func decrypt(c converter.PayloadCodec, p *commonpb.Payload) (*commonpb.Payload, error) {
	out, err := c.Decode([]*commonpb.Payload{p})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func requireSame(t testing.TB, want, got *commonpb.Payload) {
	t.Helper()
	require.True(t, proto.Equal(want, got), "want %v, got %v", want, got)
}

func TestWhatIsEncryptedIsDecryptedToTheSame(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	in := []*commonpb.Payload{
		plain(`{"name":"Northwind"}`),
		plain(""),
		{},
		{Data: []byte{0, 255}},
		plain(strings.Repeat("x", 2<<20)),
		{Data: []byte("elsewhere"), ExternalPayloads: []*commonpb.Payload_ExternalPayloadDetails{{SizeBytes: 7}}},
	}
	before := proto.Clone(&commonpb.Payloads{Payloads: in})
	out, err := c.Encode(in)
	require.NoError(t, err)
	require.True(t, proto.Equal(before, &commonpb.Payloads{Payloads: in}), "the input is left alone")
	for i, p := range out {
		require.Equal(t, map[string][]byte{
			"encoding":          []byte("binary/encrypted"),
			"encryption-key-id": []byte("k1"),
		}, p.Metadata, "its own metadata is encrypted with it")
		require.Empty(t, p.ExternalPayloads)
		require.NotContains(t, string(p.Data), "Northwind")
		require.NotContains(t, string(p.Data), "top secret")
		require.LessOrEqual(t, proto.Size(p), proto.Size(in[i])+110, "bounded growth")
	}
	back, err := c.Decode(out)
	require.NoError(t, err)
	for i := range in {
		requireSame(t, in[i], back[i])
	}
}

func TestNoPayloadIsNoPayload(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	for _, f := range []func([]*commonpb.Payload) ([]*commonpb.Payload, error){c.Encode, c.Decode} {
		out, err := f([]*commonpb.Payload{nil})
		require.NoError(t, err)
		require.Equal(t, []*commonpb.Payload{nil}, out)
		out, err = f(nil)
		require.NoError(t, err)
		require.Empty(t, out)
	}
}

func TestTwoEncryptionsDiffer(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	one, other := encrypted(t, c, plain("same")), encrypted(t, c, plain("same"))
	require.NotEqual(t, one.Data, other.Data)
	require.NotEqual(t, one.Data[:12], other.Data[:12], "each has a nonce of its own")
}

func TestARotatedKeyStillDecryptsAndTheNewOneEncrypts(t *testing.T) {
	before := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	after := payloadcodec.New(keys(t, "k2:"+b64(key2)+",k1:"+b64(key1)))
	without := payloadcodec.New(keys(t, "k2:"+b64(key2)))

	old := encrypted(t, before, plain("old"))
	got, err := decrypt(after, old)
	require.NoError(t, err)
	requireSame(t, plain("old"), got)

	fresh := encrypted(t, after, plain("new"))
	require.Equal(t, "k2", string(fresh.Metadata[payloadcodec.MetadataKeyID]))
	got, err = decrypt(without, fresh)
	require.NoError(t, err)
	requireSame(t, plain("new"), got)

	_, err = decrypt(without, old)
	require.ErrorContains(t, err, `encrypted with key "k1", which is not among the configured keys`)
}

func TestWhatCannotBeDecryptedHoldsUpARunAndDoesNotEndIt(t *testing.T) {
	p := encrypted(t, payloadcodec.New(keys(t, "k1:"+b64(key1))), plain("x"))
	_, err := decrypt(payloadcodec.New(keys(t, "k2:"+b64(key2))), p)
	var held *converter.WorkflowTaskFailureError
	require.ErrorAs(t, err, &held)
}

func TestWhatWasTamperedWithIsRefused(t *testing.T) {
	text := "k1:" + b64(key1) + ",k2:" + b64(key2)
	c := payloadcodec.New(keys(t, text))
	for name, change := range map[string]func(*commonpb.Payload){
		"the nonce":               func(p *commonpb.Payload) { p.Data[0] ^= 1 },
		"the ciphertext":          func(p *commonpb.Payload) { p.Data[13] ^= 1 },
		"the tag":                 func(p *commonpb.Payload) { p.Data[len(p.Data)-1] ^= 1 },
		"the end cut off":         func(p *commonpb.Payload) { p.Data = p.Data[:len(p.Data)-1] },
		"a byte more":             func(p *commonpb.Payload) { p.Data = append(p.Data, 0) },
		"less than nonce and tag": func(p *commonpb.Payload) { p.Data = p.Data[:27] },
		"nothing left":            func(p *commonpb.Payload) { p.Data = nil },
		"the id of another key":   func(p *commonpb.Payload) { p.Metadata[payloadcodec.MetadataKeyID] = []byte("k2") },
		"the id of no key":        func(p *commonpb.Payload) { p.Metadata[payloadcodec.MetadataKeyID] = []byte("k3") },
		"no id":                   func(p *commonpb.Payload) { delete(p.Metadata, payloadcodec.MetadataKeyID) },
		"an id that is none":      func(p *commonpb.Payload) { p.Metadata[payloadcodec.MetadataKeyID] = []byte("k1\n") },
	} {
		t.Run(name, func(t *testing.T) {
			p := encrypted(t, c, plain("pay 100"))
			change(p)
			out, err := c.Decode([]*commonpb.Payload{plain("fine"), p})
			require.ErrorContains(t, err, "payload 1: decrypt: ")
			require.Nil(t, out, "nothing half decrypted")
		})
	}
}

// The same key under two names: only the authenticated id tells them apart.
func TestTheKeyIDIsAuthenticated(t *testing.T) {
	p := encrypted(t, payloadcodec.New(keys(t, "k1:"+b64(key1))), plain("x"))
	p.Metadata[payloadcodec.MetadataKeyID] = []byte("k9")
	_, err := decrypt(payloadcodec.New(keys(t, "k9:"+b64(key1))), p)
	require.ErrorContains(t, err, "was changed")
}

func TestWhatIsNotOursPassesThrough(t *testing.T) {
	c := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	for _, p := range []*commonpb.Payload{
		plain("from before encryption was on"),
		{},
		{Data: []byte("no metadata")},
		{Metadata: map[string][]byte{"encoding": []byte("binary/zlib")}, Data: []byte{1}},
		{Metadata: map[string][]byte{payloadcodec.MetadataKeyID: []byte("k1")}, Data: []byte{1}},
	} {
		got, err := decrypt(c, p)
		require.NoError(t, err)
		requireSame(t, p, got)
	}
}

func TestNumbersOfFortyDigitsSurvive(t *testing.T) {
	const text = `{"n":1234567890123456789012345678901234567890.1234567890123456789012345678901234567890,"e":1e400}`
	dc := payloadcodec.DataConverter(payloadcodec.New(keys(t, "k1:"+b64(key1))))
	type doc struct {
		Raw json.RawMessage `json:"raw"`
		N   json.Number     `json:"n"`
	}
	in := doc{Raw: json.RawMessage(text), N: "9999999999999999999999999999999999999999"}
	ps, err := dc.ToPayloads(in, json.RawMessage(text))
	require.NoError(t, err)
	require.NotContains(t, ps.String(), "1234567890")
	var out doc
	var raw json.RawMessage
	require.NoError(t, dc.FromPayloads(ps, &out, &raw))
	require.Equal(t, in, out)
	require.Equal(t, text, string(raw))
}

func TestTheMessageAndDetailsOfAFailureAreEncrypted(t *testing.T) {
	codec := payloadcodec.New(keys(t, "k1:"+b64(key1)))
	fc := payloadcodec.FailureConverter(codec)
	f := fc.ErrorToFailure(temporal.NewApplicationError("Northwind owes 100", "kind", "Northwind details"))
	data, err := proto.Marshal(f)
	require.NoError(t, err)
	require.NotContains(t, string(data), "Northwind")

	back := fc.FailureToError(f)
	var app *temporal.ApplicationError
	require.ErrorAs(t, back, &app)
	require.Equal(t, "Northwind owes 100", app.Message())
	var details string
	require.NoError(t, app.Details(&details))
	require.Equal(t, "Northwind details", details)
}

func TestWithoutACodecTheConvertersAreTemporalsOwn(t *testing.T) {
	p, err := payloadcodec.DataConverter(nil).ToPayload("x")
	require.NoError(t, err)
	require.Equal(t, `"x"`, string(p.Data))
	require.Equal(t, "m", payloadcodec.FailureConverter(nil).ErrorToFailure(temporal.NewApplicationError("m", "kind")).Message)
}

// genuine is what an earlier release encrypted, under key1 as k1: histories
// outlive releases.
func genuine(t testing.TB) (ciphertext []byte, want *commonpb.Payload) {
	t.Helper()
	ciphertext, err := base64.StdEncoding.DecodeString("l3/1wjEhFowx6Pd9pH65JLGErP+NMNPrL9E2oWi3dEJsulrdHIImKqVbzHJIjtT4JEjOyO8P5DOS4C3guPqN")
	require.NoError(t, err)
	return ciphertext, &commonpb.Payload{
		Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"genuine"`),
	}
}

func TestWhatAnEarlierReleaseEncryptedIsDecrypted(t *testing.T) {
	ciphertext, want := genuine(t)
	got, err := decrypt(payloadcodec.New(keys(t, "k1:"+b64(key1))), &commonpb.Payload{
		Metadata: map[string][]byte{"encoding": []byte("binary/encrypted"), "encryption-key-id": []byte("k1")}, Data: ciphertext,
	})
	require.NoError(t, err)
	requireSame(t, want, got)
}

// Decode never panics, lets through unchanged what is not ours, and of what is
// ours yields nothing that the holder of a key did not encrypt.
func FuzzDecode(f *testing.F) {
	c := payloadcodec.New(keys(f, "k1:"+b64(key1)+",k2:"+b64(key2)))
	// Fixed, for the processes of a fuzzer must agree on it.
	ciphertext, want := genuine(f)
	f.Add([]byte(payloadcodec.Encoding), []byte("k1"), ciphertext)
	f.Add([]byte(payloadcodec.Encoding), []byte("k2"), ciphertext)
	f.Add([]byte(payloadcodec.Encoding), []byte(""), []byte{})
	f.Add([]byte("json/plain"), []byte("k1"), []byte(`"x"`))
	f.Fuzz(func(t *testing.T, encoding, id, data []byte) {
		p := &commonpb.Payload{Data: data, Metadata: map[string][]byte{
			converter.MetadataEncoding: encoding, payloadcodec.MetadataKeyID: id,
		}}
		got, err := decrypt(c, p)
		switch {
		case string(encoding) != payloadcodec.Encoding:
			require.NoError(t, err)
			requireSame(t, p, got)
		case err == nil:
			require.Equal(t, "k1", string(id))
			require.True(t, bytes.Equal(ciphertext, data), "a forgery")
			requireSame(t, want, got)
		default:
			require.Nil(t, got)
		}
	})
}
