package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedEnvironment holds the seed that the runner drew or was given.
const seedEnvironment = "SOAK_SEED"

// Seed is the seed of this run of the soak, for tests that draw at random. The record keeps it, and -seed repeats it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv(seedEnvironment)
	if text == "" {
		drawn := rand.Uint64() // #nosec G404 -- moments of a test
		t.Logf("%s=%d", seedEnvironment, drawn)
		return drawn
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%q is no number: %v", seedEnvironment, text, err)
	}
	return seed
}
