package version

import "testing"

func TestChoose(t *testing.T) {
	if got := choose("v1.2.3"); got != "v1.2.3" {
		t.Errorf("a stamp gives %q", got)
	}
	if choose("") == "" || Version == "" {
		t.Error("a build without a stamp has no version")
	}
}
