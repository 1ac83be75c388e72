package payloadcodec

import (
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Encoding is the encoding that the metadata of an encrypted payload names.
const Encoding = "binary/encrypted"

// MetadataKeyID is the metadata field with the id of the key that encrypted a
// payload.
const MetadataKeyID = "encryption-key-id"

// purpose begins what is authenticated beside a ciphertext: what the same key
// may have encrypted elsewhere does not pass for a payload.
const purpose = "agentprocess/1 payload\x00"

type codec struct{ keys *Keys }

// New returns a codec that encrypts a whole payload, its metadata included,
// with AES-256-GCM under the current key. The key id is authenticated with it.
// Encrypting adds about 100 bytes, and comes out different each time.
//
// What does not carry our [Encoding] is decoded to itself, so that encryption
// can be switched on, and runs from before go on. A payload whose key is not
// among keys, or that does not authenticate, is an error; in a workflow task it
// is a converter.WorkflowTaskFailureError, so that a wrong configuration delays
// a run until it is mended, and does not end it.
func New(keys *Keys) converter.PayloadCodec { return codec{keys} }

// Encode implements converter.PayloadCodec.
func (c codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.encode)
}

// Decode implements converter.PayloadCodec.
func (c codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.decode)
}

func each(payloads []*commonpb.Payload, f func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if p == nil {
			continue
		}
		var err error
		if out[i], err = f(p); err != nil {
			return nil, converter.NewWorkflowTaskFailureError(fmt.Errorf("payload %d: %w", i, err))
		}
	}
	return out, nil
}

func (c codec) encode(p *commonpb.Payload) (*commonpb.Payload, error) {
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	id := c.keys.current
	return &commonpb.Payload{
		Metadata: map[string][]byte{
			converter.MetadataEncoding: []byte(Encoding),
			MetadataKeyID:              []byte(id),
		},
		Data: c.keys.ciphers[id].Seal(nil, nil, plain, []byte(purpose+id)),
	}, nil
}

func (c codec) decode(p *commonpb.Payload) (*commonpb.Payload, error) {
	if string(p.Metadata[converter.MetadataEncoding]) != Encoding {
		return p, nil
	}
	id := string(p.Metadata[MetadataKeyID])
	aead, ok := c.keys.ciphers[id]
	switch {
	case !ok && idPattern.MatchString(id):
		return nil, fmt.Errorf("decrypt: the payload was encrypted with key %q, which is not among the configured keys", id)
	case !ok:
		return nil, errors.New("decrypt: the payload names no key")
	}
	plain, err := aead.Open(nil, nil, p.Data, []byte(purpose+id))
	if err != nil {
		return nil, fmt.Errorf("decrypt: the payload was changed, or encrypted with another key of the id %q", id)
	}
	out := &commonpb.Payload{}
	if err := proto.Unmarshal(plain, out); err != nil {
		// Not the error itself: it may quote what was encrypted.
		return nil, errors.New("decrypt: what was encrypted is not a payload")
	}
	return out, nil
}
