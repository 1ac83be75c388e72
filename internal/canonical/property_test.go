package canonical_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentprocess-temporal/server/internal/canonical"
)

// object is a JSON object in the order of its text.
type object []pair

type pair struct {
	key   string
	value any
}

var number = rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`)

// value draws a JSON value: nil, bool, json.Number, string, []any or object.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 6
		if depth == 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return json.Number(number.Draw(t, "number"))
		case 3:
			return rapid.String().Draw(t, "string")
		case 4:
			return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "list")
		}
		var o object
		for _, key := range rapid.SliceOfNDistinct(rapid.String(), 0, 5, rapid.ID[string]).Draw(t, "keys") {
			o = append(o, pair{key, value(depth-1).Draw(t, "member")})
		}
		return o
	})
}

// write renders a value in one of its many texts.
func write(b *strings.Builder, v any, random *rand.Rand) {
	space := func() {
		for random.IntN(4) == 0 {
			b.WriteByte(" \t\r\n"[random.IntN(4)])
		}
	}
	space()
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case string:
		writeString(b, v, random)
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, e, random)
		}
		space()
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i, at := range random.Perm(len(v)) {
			if i > 0 {
				b.WriteByte(',')
			}
			space()
			writeString(b, v[at].key, random)
			space()
			b.WriteByte(':')
			write(b, v[at].value, random)
		}
		space()
		b.WriteByte('}')
	default:
		fmt.Fprint(b, v)
	}
	space()
}

func writeString(b *strings.Builder, text string, random *rand.Rand) {
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r >= 0x10000 && random.IntN(2) == 0:
			fmt.Fprintf(b, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		case r < 0x10000 && (r < 0x20 || random.IntN(3) == 0):
			fmt.Fprintf(b, `\u%04X`, r)
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

func decode(t require.TestingT, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

func TestEveryTextOfAValueHasOneCanonicalForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(4).Draw(t, "value")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		var one, other strings.Builder
		write(&one, v, random)
		write(&other, v, random)

		got, err := canonical.JSON([]byte(one.String()))
		require.NoError(t, err)
		again, err := canonical.JSON([]byte(other.String()))
		require.NoError(t, err)
		require.Equal(t, string(got), string(again))

		require.Equal(t, decode(t, []byte(one.String())), decode(t, got), "it means the same")
		twice, err := canonical.JSON(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(twice), "it is its own canonical form")
		require.Empty(t, canonical.Strict([]byte(one.String())))
	})
}

func TestNumberKeysAreEqualExactlyWhenTheValuesAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := number.Draw(t, "a")
		b := number.Draw(t, "b")
		if rapid.Bool().Draw(t, "make equal") {
			b = respell(t, a)
		}
		x, ok := new(big.Rat).SetString(a)
		require.True(t, ok)
		y, ok := new(big.Rat).SetString(b)
		require.True(t, ok)
		require.Equal(t, x.Cmp(y) == 0, canonical.NumberKey(a) == canonical.NumberKey(b), "%s and %s", a, b)

		key, ok := new(big.Rat).SetString(canonical.NumberKey(a))
		require.True(t, ok)
		require.Zero(t, x.Cmp(key), "the key of %s has its value", a)
	})
}

// respell writes the value of a number with another exponent.
func respell(t *rapid.T, text string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	power, _ := new(big.Int).SetString("0"+strings.TrimLeft(exponent, "+-"), 10)
	if strings.HasPrefix(exponent, "-") {
		power.Neg(power)
	}
	n := rapid.IntRange(0, 30).Draw(t, "shift")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	power.Sub(power, big.NewInt(int64(len(fraction)+n)))
	all := strings.TrimLeft(strings.TrimPrefix(whole, "-")+fraction, "0") + strings.Repeat("0", n)
	if strings.Trim(all, "0") == "" {
		return "-0.0"
	}
	if strings.HasPrefix(whole, "-") {
		all = "-" + all
	}
	return all + "e" + power.String()
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[true,null,"\ud83d\ude00"]}`, `[1e5,-0.0,"\u0000"]`, `{"a":1,"a":2}`, `"\ud800"`,
		"\"\xff\"", `[[[`, `{"\\":1,"\"":2}`, ` 1e999999999999999999999 `, `{}x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		problems := canonical.Strict(text)
		got, err := canonical.JSON(text)
		key, keyErr := canonical.ValueKey(text)
		require.Equal(t, err == nil, keyErr == nil)
		if len(problems) == 0 {
			require.NoError(t, err, "what Strict lets pass has a canonical form")
		}
		if err != nil {
			return
		}
		require.True(t, json.Valid(text), "what has a canonical form is JSON")
		require.True(t, utf8.Valid(got))
		require.Equal(t, decode(t, text), decode(t, got))
		twice, err := canonical.JSON(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(twice))
		again, err := canonical.ValueKey([]byte(key))
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}

func FuzzStrictKnowsJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5e-3,"x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			require.NotEmpty(t, canonical.Strict(text), "what is no JSON is never fine")
			return
		}
		for _, problem := range canonical.Strict(text) {
			require.NotContains(t, problem, "not valid JSON")
		}
	})
}
