// Package hang limits how long tests wait. The limit is far beyond what a busy machine needs, and no test depends on
// it.
package hang

import (
	"testing"
	"time"
)

// Guard is the time after which a test reports that it hangs.
const Guard = 5 * time.Minute

// Until waits until a fact holds.
func Until(t testing.TB, fact string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(Guard); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("hung: after %s not yet: %s", Guard, fact)
		}
	}
}
