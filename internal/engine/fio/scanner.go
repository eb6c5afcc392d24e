package fio

import "errors"

// Limits on the size and the nesting of one document. For comparison, the size of a json+ dump of one reporting group
// is 34 kB.
const (
	maxDocumentBytes = 64 << 20
	maxDepth         = 32
)

var (
	errSyntax   = errors.New("not JSON")
	errTooDeep  = errors.New("nested more than 32 levels deep")
	errTooLarge = errors.New("larger than 64 MiB")
)

// scanner follows the structure of one JSON object byte by byte. It detects the end of a document as soon as the last
// byte arrives, and rejects a damaged document at the first byte that is not valid at its position in a JSON object. It
// is as strict as the function parse, except within numbers and strings.
type scanner struct {
	expect expectation
	// open holds '{' or '[' for each level of nesting.
	open []byte
	// digits is the number of digits that are still missing in a \u escape.
	digits int
	key    bool
}

type expectation uint8

const (
	expectValue expectation = iota
	expectFirstValue
	expectKey
	expectFirstKey
	expectColon
	expectComma
	insideString
	insideEscape
	insideUnicode
	insideScalar
)

// next consumes one byte; done is true if it closed the outermost object.
func (s *scanner) next(c byte) (done bool, err error) {
	if s.expect == insideString || s.expect == insideEscape || s.expect == insideUnicode {
		return false, s.inString(c)
	}
	if s.expect == insideScalar {
		if isScalar(c) {
			return false, nil
		}
		s.expect = expectComma
	}
	if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
		return false, nil
	}
	switch s.expect {
	case expectKey, expectFirstKey:
		return s.atKey(c)
	case expectColon:
		if c != ':' {
			return false, errSyntax
		}
		s.expect = expectValue
		return false, nil
	case expectComma:
		return s.atComma(c)
	default:
		return s.atValue(c)
	}
}

func (s *scanner) inString(c byte) error {
	switch {
	case s.expect == insideEscape && c == 'u':
		s.expect, s.digits = insideUnicode, 4
	case s.expect == insideEscape:
		s.expect = insideString
	case s.expect == insideUnicode:
		if s.digits--; s.digits == 0 {
			s.expect = insideString
		}
	case c == '\\':
		s.expect = insideEscape
	case c == '"' && s.key:
		s.expect, s.key = expectColon, false
	case c == '"':
		s.expect = expectComma
	case c < ' ':
		return errSyntax
	}
	return nil
}

func (s *scanner) atKey(c byte) (bool, error) {
	switch {
	case c == '"':
		s.expect, s.key = insideString, true
		return false, nil
	case c == '}' && s.expect == expectFirstKey:
		return s.close('{')
	}
	return false, errSyntax
}

func (s *scanner) atComma(c byte) (bool, error) {
	switch c {
	case '}':
		return s.close('{')
	case ']':
		return s.close('[')
	case ',':
		if s.open[len(s.open)-1] == '{' {
			s.expect = expectKey
		} else {
			s.expect = expectValue
		}
		return false, nil
	}
	return false, errSyntax
}

func (s *scanner) atValue(c byte) (bool, error) {
	switch {
	case c == '{' || c == '[':
		if len(s.open) == maxDepth {
			return false, errTooDeep
		}
		s.open = append(s.open, c)
		s.expect = expectFirstKey
		if c == '[' {
			s.expect = expectFirstValue
		}
	case c == '"':
		s.expect = insideString
	case c == ']' && s.expect == expectFirstValue:
		return s.close('[')
	case isScalar(c):
		s.expect = insideScalar
	default:
		return false, errSyntax
	}
	return false, nil
}

func (s *scanner) close(opener byte) (bool, error) {
	last := len(s.open) - 1
	if s.open[last] != opener {
		return false, errSyntax
	}
	s.open = s.open[:last]
	s.expect = expectComma
	return last == 0, nil
}

// isScalar reports whether c can be part of a number, of true, false or null, or of the nan and inf that fio prints
// after a division by zero.
func isScalar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '+' || c == '.'
}
