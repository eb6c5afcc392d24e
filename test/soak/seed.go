package soak

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// seedEnvironment is the environment variable with the seed of the run.
const seedEnvironment = "SOAK_SEED"

// Seed returns the seed of this soak run, for tests with random choices. The record contains it, and -seed sets it to
// repeat a run.
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
