package fio

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// value is a JSON value. Objects are not decoded with encoding/json, which would accept damaged documents: it uses the
// last of several values with the same key, ignores missing keys, and ignores the case of keys.
type value struct {
	// kind is the first byte of an object, a list or a string ('{', '[' or '"'); 0 for other scalars.
	kind    byte
	text    string
	members map[string]*value
	// keys lists the keys of members in the order of the text, so that the same text always causes the same error.
	keys  []string
	items []*value
}

// parse decodes a text that consists of one JSON object. It returns an error if anything but white space follows the
// object.
func parse(raw []byte) (*value, error) {
	p := parser{raw: raw}
	p.space()
	if p.peek() != '{' {
		return nil, errSyntax
	}
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at != len(raw) {
		return nil, fmt.Errorf("%w: trailing data after the object", errSyntax)
	}
	return root, nil
}

type parser struct {
	raw []byte
	at  int
	// options is true inside "global options" and "job options", which may have duplicate keys: fio repeats options that
	// were set twice. Duplicates are harmless here, because only the I/O engine is read from these objects, and this
	// option is set only once.
	options bool
}

func (p *parser) peek() byte {
	if p.at < len(p.raw) {
		return p.raw[p.at]
	}
	return 0
}

func (p *parser) space() {
	for p.at < len(p.raw) {
		switch p.raw[p.at] {
		case ' ', '\n', '\t', '\r':
			p.at++
		default:
			return
		}
	}
}

// take skips white space and, if the next byte is c, consumes it. It returns false if the next byte is not c.
func (p *parser) take(c byte) bool {
	p.space()
	if p.peek() != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	p.space()
	switch p.peek() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		text, err := p.string()
		return &value{kind: '"', text: text}, err
	}
	start := p.at
	for isScalar(p.peek()) {
		p.at++
	}
	text := p.raw[start:p.at]
	if !scalarPattern.Match(text) {
		return nil, fmt.Errorf("%w: %q", errSyntax, clip(string(text)))
	}
	return &value{text: string(text)}, nil
}

// scalarPattern matches JSON's numbers and words, and also the nan and inf that C prints after a division by zero. A
// nan or inf is rejected only if its value is needed.
var scalarPattern = regexp.MustCompile(`^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null|-?nan|-?inf)$`)

func (p *parser) object(depth int) (*value, error) {
	p.at++
	object := &value{kind: '{', members: map[string]*value{}}
	if p.take('}') {
		return object, nil
	}
	for {
		p.space()
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, twice := object.members[key]; twice && !p.options {
			return nil, fmt.Errorf("duplicate key %q", clip(key))
		}
		if !p.take(':') {
			return nil, errSyntax
		}
		inner := *p
		inner.options = key == "global options" || key == "job options"
		if object.members[key], err = inner.value(depth + 1); err != nil {
			return nil, err
		}
		p.at = inner.at
		object.keys = append(object.keys, key)
		if p.take('}') {
			return object, nil
		}
		if !p.take(',') {
			return nil, errSyntax
		}
	}
}

func (p *parser) array(depth int) (*value, error) {
	p.at++
	array := &value{kind: '['}
	if p.take(']') {
		return array, nil
	}
	for {
		item, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		array.items = append(array.items, item)
		if p.take(']') {
			return array, nil
		}
		if !p.take(',') {
			return nil, errSyntax
		}
	}
}

func (p *parser) string() (string, error) {
	if p.peek() != '"' {
		return "", errSyntax
	}
	start, escaped := p.at, false
	for p.at++; p.at < len(p.raw); p.at++ {
		switch c := p.raw[p.at]; {
		case c == '\\':
			escaped = true
			p.at++
		case c == '"':
			p.at++
			if !escaped {
				return string(p.raw[start+1 : p.at-1]), nil
			}
			var text string
			if json.Unmarshal(p.raw[start:p.at], &text) != nil {
				return "", fmt.Errorf("%w: invalid escape in a string", errSyntax)
			}
			return text, nil
		case c < ' ':
			return "", errSyntax
		}
	}
	return "", errSyntax
}

// Reasons for rejecting a figure.
var (
	errMissing  = errors.New("is missing")
	errNegative = errors.New("is negative")
	errNumber   = errors.New("is not a number")
	errInteger  = errors.New("is not a 64-bit integer")
)

// member returns the member with the given name. It returns nil if there is none, or if v is not an object.
func (v *value) member(name string) *value {
	if v == nil || v.kind != '{' {
		return nil
	}
	return v.members[name]
}

// signed decodes a 64-bit integer with a sign. fio prints its unsigned counters as signed numbers, so a counter of 2^63
// or more appears as a negative number.
func (v *value) signed() (int64, error) {
	if v == nil {
		return 0, errMissing
	}
	if v.kind != 0 {
		return 0, errNumber
	}
	number, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", errInteger, clip(v.text))
	}
	return number, nil
}

func (v *value) unsigned() (uint64, error) {
	number, err := v.signed()
	if err != nil {
		return 0, err
	}
	if number < 0 {
		return 0, fmt.Errorf("%w: %d", errNegative, number)
	}
	return uint64(number), nil
}

func (v *value) float() (float64, error) {
	if v == nil {
		return 0, errMissing
	}
	number, err := strconv.ParseFloat(v.text, 64)
	if v.kind != 0 || err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
		return 0, fmt.Errorf("%w: %s", errNumber, clip(v.text))
	}
	return number, nil
}

// clip shortens a text printed by fio, so that it can be quoted in a message.
func clip(text string) string { return clipTo(80, text) }

func clipTo(longest int, text string) string {
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "?") + "..."
	}
	return text
}
