package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// yaml reads the frontmatter. The YAML library only finds the structure; what a
// scalar means is decided here. It returns nil when there is nothing to go on with.
func (r *report) yaml(front []byte) *node {
	if len(front) > MaxFrontmatter {
		r.add(at{2, 1}, "the frontmatter has %d bytes; the most is %d", len(front), MaxFrontmatter)
		return nil
	}
	if !r.printable(front) {
		return nil
	}
	plain, hidden := hide(string(front))
	root, second, err := readYAML([]byte(plain))
	if err != nil {
		line, message := locate(plain, err)
		r.add(at{line, 1}, "not valid YAML: %s", hidden.plain.Replace(message))
		return nil
	}
	if root == nil {
		r.add(at{2, 1}, "the frontmatter is empty; add name, description and steps")
		return nil
	}
	if second != nil {
		r.add(position(second), "a second YAML document begins here; the frontmatter is one document")
	}
	c := converter{report: r, hidden: hidden, open: map[*yaml.Node]bool{}}
	if strings.Contains(plain, "!") {
		for line := range strings.SplitSeq(lineEnds.Replace(plain), "\n") {
			c.lines = append(c.lines, []rune(line))
		}
	}
	n, ok := c.convert(root.Content[0], 1)
	if !ok {
		return nil
	}
	return n
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// readYAML parses the one document, and the one that should not be there. The
// library panics on some input; that is no more than a syntax error here.
func readYAML(src []byte) (first, second *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			first, second, err = nil, nil, errors.New("yaml: the text cannot be parsed")
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var one, two yaml.Node
	if err := dec.Decode(&one); errors.Is(err, io.EOF) || err == nil && len(one.Content) == 0 {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	switch err := dec.Decode(&two); {
	case err == nil:
		return &one, &two, nil
	case errors.Is(err, io.EOF):
		return &one, nil, nil
	default:
		return nil, nil, err
	}
}

var yamlError = regexp.MustCompile(`(?s)^yaml: (?:line ([0-9]+): )?(.*)$`)

// locate finds the line in the file of a syntax error. The library names the
// line where the broken construct began, so the line where it breaks is looked
// for: the first one that yields the same error when the text ends after it.
func locate(src string, err error) (line int, message string) {
	m := yamlError.FindStringSubmatch(err.Error())
	if m == nil {
		return 2, err.Error()
	}
	reported, _ := strconv.Atoi(m[1])
	lines := strings.SplitAfter(src, "\n")
	line = max(1, min(reported, len(lines)))
	if len(src) <= 64<<10 {
		low, high := 1, len(lines)
		for low < high {
			mid := (low + high) / 2
			_, _, e := readYAML([]byte(strings.Join(lines[:mid], "")))
			if e != nil && e.Error() == err.Error() {
				high = mid
			} else {
				low = mid + 1
			}
		}
		line = low
	}
	return line + 1, clip(m[2])
}

// printable refuses characters that YAML does not allow unescaped.
func (r *report) printable(front []byte) bool {
	ok, p := true, at{2, 1}
	for _, c := range string(front) {
		switch {
		case c == '\n':
			p = at{p.line + 1, 0}
		case c < ' ' && c != '\t' && c != '\r', c >= 0x7f && c < 0xa0 && c != 0x85, c == 0xfeff, c == 0xfffe, c == 0xffff:
			r.add(p, "remove the character %U, which YAML does not allow here", c)
			ok = false
		}
		p.col++
	}
	return ok
}

// converter turns the library's nodes into ours.
type converter struct {
	*report
	hidden hidden
	// open are the nodes being converted, to notice one that holds itself.
	open map[*yaml.Node]bool
	// size counts the text converted, aliases written out.
	size int
	// lines is the source, kept only if a `!` occurs in it.
	lines [][]rune
}

// position is where a node stands in the file: the frontmatter begins on line 2.
func position(n *yaml.Node) at { return at{n.Line + 1, max(n.Column, 1)} }

// convert returns false when reading has to stop altogether.
func (c *converter) convert(n *yaml.Node, depth int) (*node, bool) {
	p := position(n)
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if c.size += 1 + len(n.Value); c.size > MaxExpanded {
		c.add(p, "aliases make the frontmatter larger than %d bytes; write less of it through aliases", MaxExpanded)
		return nil, false
	}
	if depth > MaxDepth {
		c.add(p, "nested deeper than %d levels; flatten this", MaxDepth)
		return nil, false
	}
	if c.open[n] {
		c.add(p, "the alias refers to a value that contains it; write the value out")
		return nil, false
	}
	c.open[n] = true
	defer delete(c.open, n)
	out := &node{at: position(n)}
	switch n.Kind {
	case yaml.SequenceNode:
		out.shape = listNode
		c.collectionTag(n, "!!seq")
		for _, item := range n.Content {
			v, ok := c.convert(item, depth+1)
			if !ok {
				return nil, false
			}
			out.items = append(out.items, v)
		}
	case yaml.MappingNode:
		out.shape = mapNode
		c.collectionTag(n, "!!map")
		return out, c.pairs(out, n, depth)
	default:
		c.scalar(out, n)
	}
	return out, true
}

// pairs reads the entries of a map: keys are text, each one once.
func (c *converter) pairs(out *node, n *yaml.Node, depth int) bool {
	first := map[string]at{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := c.convert(n.Content[i], depth+1)
		if !ok {
			return false
		}
		value, ok := c.convert(n.Content[i+1], depth+1)
		if !ok {
			return false
		}
		keyAt := position(n.Content[i])
		if key.shape != stringNode {
			hint := ""
			if key.shape != listNode && key.shape != mapNode {
				hint = "; put it in quotes"
			}
			c.add(keyAt, "a key must be text, not %s%s", key.shape, hint)
			out.lossy = true
			continue
		}
		if before, twice := first[key.text]; twice {
			c.add(keyAt, "the key %s is given twice, first on line %d; keep one", quote(key.text), before.line)
			out.lossy = true
			continue
		}
		first[key.text] = keyAt
		out.pairs = append(out.pairs, pair{key: key.text, at: keyAt, value: value})
	}
	return true
}

func (c *converter) collectionTag(n *yaml.Node, want string) {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != want {
		c.add(position(n), "the tag %s does not fit here; remove it", quote(n.Tag))
	}
}

// scalar resolves one scalar, by its tag if it has one.
func (c *converter) scalar(out *node, n *yaml.Node) {
	value := c.hidden.restore(n.Value, n.Style)
	out.shape, out.text = stringNode, value
	tagged := n.Style&yaml.TaggedStyle != 0
	if tagged && n.Tag == "!!str" || !tagged && (n.Style != 0 || c.nonSpecific(n)) {
		return
	}
	shape, text, finite := resolve(value)
	if tagged && !fits(n.Tag, shape, text) {
		switch n.Tag {
		case "!!int", "!!float", "!!bool", "!!null":
			c.spoil(out.at, "%s is not a value of %s in the core schema; change it or remove the tag", quote(value), n.Tag)
		default:
			c.spoil(out.at, "the tag %s does not fit here; remove it", quote(n.Tag))
		}
		return
	}
	if !finite {
		c.spoil(out.at, "the number %s is not a finite double, so it has no content hash; use a smaller one, or put it in quotes", quote(value))
	}
	out.shape, out.text = shape, text
}

func fits(tag string, shape shape, text string) bool {
	switch tag {
	case "!!null":
		return shape == nullNode
	case "!!bool":
		return shape == boolNode
	case "!!int":
		return shape == numberNode && coreInt.MatchString(text)
	case "!!float":
		return shape == numberNode
	}
	return false
}

// nonSpecific reports whether a plain scalar carries the tag `!`, which makes it
// a string. The library drops that tag, so the source is asked: a plain scalar
// cannot begin with `!` or with the `&` of an anchor.
func (c *converter) nonSpecific(n *yaml.Node) bool {
	if n.Line < 1 || n.Line > len(c.lines) || n.Column < 1 || n.Column > len(c.lines[n.Line-1]) {
		return false
	}
	text := c.lines[n.Line-1][n.Column-1:]
	if text[0] == '&' {
		i := 0
		for i < len(text) && text[i] != ' ' && text[i] != '\t' {
			i++
		}
		for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
			i++
		}
		text = text[i:]
	}
	return len(text) > 0 && text[0] == '!'
}

// clip keeps a message of the library to one short line.
func clip(s string) string {
	if !utf8.ValidString(s) || len(s) > 200 {
		return fmt.Sprintf("%.200q", s)
	}
	return strings.ReplaceAll(s, "\n", " ")
}
