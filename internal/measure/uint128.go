package measure

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// Uint128 is an unsigned integer of 128 bits. It can hold the sum of 2^64 latencies, so sums are exact and, unlike sums
// of floating-point numbers, do not depend on the order of addition.
type Uint128 struct {
	High uint64
	Low  uint64
}

var maxUint128 = Uint128{High: math.MaxUint64, Low: math.MaxUint64}

// productOf returns a times b, which always fits.
func productOf(a, b uint64) Uint128 {
	high, low := bits.Mul64(a, b)
	return Uint128{High: high, Low: low}
}

// Add returns the sum, or the largest Uint128 if the sum does not fit.
func (u Uint128) Add(v Uint128) Uint128 {
	low, carry := bits.Add64(u.Low, v.Low, 0)
	high, over := bits.Add64(u.High, v.High, carry)
	if over != 0 {
		return maxUint128
	}
	return Uint128{High: high, Low: low}
}

// sub returns u minus v. It returns false if v is greater than u.
func (u Uint128) sub(v Uint128) (Uint128, bool) {
	low, borrow := bits.Sub64(u.Low, v.Low, 0)
	high, under := bits.Sub64(u.High, v.High, borrow)
	return Uint128{High: high, Low: low}, under == 0
}

// Compare returns -1, 0 or +1 if u is less than, equal to or greater than v.
func (u Uint128) Compare(v Uint128) int {
	return cmp.Or(cmp.Compare(u.High, v.High), cmp.Compare(u.Low, v.Low))
}

// dividedBy returns the quotient rounded to the nearest integer, halves up, and reports whether it fits in 64 bits. The
// divisor must not be 0.
func (u Uint128) dividedBy(divisor uint64) (uint64, bool) {
	if u.High >= divisor {
		return 0, false
	}
	quotient, rest := bits.Div64(u.High, u.Low, divisor)
	if rest >= divisor-rest {
		if quotient == math.MaxUint64 {
			return 0, false
		}
		quotient++
	}
	return quotient, true
}

// String returns the decimal digits.
func (u Uint128) String() string {
	return u.big().String()
}

func (u Uint128) big() *big.Int {
	value := new(big.Int).SetUint64(u.High)
	return value.Lsh(value, 64).Or(value, new(big.Int).SetUint64(u.Low))
}

// uint128Of converts a big integer and reports whether it fits.
func uint128Of(value *big.Int) (Uint128, bool) {
	if value.Sign() < 0 || value.BitLen() > 128 {
		return Uint128{}, false
	}
	low := new(big.Int).And(value, new(big.Int).SetUint64(math.MaxUint64))
	return Uint128{High: new(big.Int).Rsh(value, 64).Uint64(), Low: low.Uint64()}, true
}

// MarshalText returns the decimal digits. In JSON the value is therefore a string, because most JSON readers round
// numbers over 2^53.
func (u Uint128) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText accepts decimal digits only.
func (u *Uint128) UnmarshalText(text []byte) error {
	const longest = 39 // the number of decimal digits of 2^128-1
	fail := fmt.Errorf("%.50q is not a decimal integer of at most 128 bits", text)
	if len(text) == 0 || len(text) > longest {
		return fail
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return fail
		}
	}
	value, ok := new(big.Int).SetString(string(text), 10)
	if !ok {
		return fail
	}
	parsed, ok := uint128Of(value)
	if !ok {
		return fail
	}
	*u = parsed
	return nil
}
