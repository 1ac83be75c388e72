package files

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/agentprocess-temporal/server/internal/keyring"
)

// DefaultLinkTTL is how long a link lasts where nothing else is configured.
const DefaultLinkTTL = 15 * time.Minute

const linkPurpose = "file-link"

var linkEncoding = base64.RawURLEncoding.Strict()

// Links makes and checks the short-lived URLs under which evidence is
// downloaded (spec §5). A URL is its own permission: it opens one file of one
// organization, needs no sign-in, and is never stored.
type Links struct {
	// Base is the server's public address, such as https://process.example.com.
	Base string
	Ring *keyring.Ring
	// TTL is the least time a URL lasts; it lasts up to a minute longer. Zero
	// means DefaultLinkTTL.
	TTL time.Duration
}

// URL returns the address of a file. Those made within the same minute are
// equal, so that two reads of one run look the same and a client may cache.
func (l Links) URL(org, fileID string, now time.Time) string {
	ttl := l.TTL
	if ttl <= 0 {
		ttl = DefaultLinkTTL
	}
	minutes := int64((ttl + time.Minute - 1) / time.Minute)
	expires := (now.Unix()/60 + 1 + minutes) * 60
	kid, mac := l.Ring.Sign(linkPurpose, linkMessage(org, fileID, expires))
	query := url.Values{
		"o": {org},
		"e": {strconv.FormatInt(expires, 10)},
		"k": {kid},
		"s": {linkEncoding.EncodeToString(mac)},
	}
	return strings.TrimRight(l.Base, "/") + "/files/" + url.PathEscape(fileID) + "?" + query.Encode()
}

// Verify reads the organization from the query of a URL that this server made
// for the file id and that has not expired at now. Anything else is false,
// another spelling of a good one included; other parameters are not looked at.
func (l Links) Verify(id string, query url.Values, now time.Time) (org string, ok bool) {
	var value [4]string
	for i, name := range []string{"o", "e", "k", "s"} {
		if len(query[name]) != 1 {
			return "", false
		}
		value[i] = query[name][0]
	}
	org, kid := value[0], value[2]
	expires, err := strconv.ParseInt(value[1], 10, 64)
	if err != nil || strconv.FormatInt(expires, 10) != value[1] {
		return "", false
	}
	mac, err := linkEncoding.DecodeString(value[3])
	if err != nil || linkEncoding.EncodeToString(mac) != value[3] {
		return "", false
	}
	// The signature first: whoever cannot sign learns nothing about time.
	if !l.Ring.Verify(kid, linkPurpose, linkMessage(org, id, expires), mac) || now.Unix() >= expires {
		return "", false
	}
	return org, true
}

// linkMessage puts lengths before its texts, so that no two links sign the same.
func linkMessage(org, id string, expires int64) []byte {
	var m []byte
	for _, s := range []string{org, id} {
		m = binary.AppendUvarint(m, uint64(len(s)))
		m = append(m, s...)
	}
	return binary.BigEndian.AppendUint64(m, uint64(expires))
}
