package version

import "testing"

func TestImage(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                "storagebench.invalid/fio:v1.2.3",
		"v0.1.0-20261121+dirty": "storagebench.invalid/fio:v0.1.0-20261121-dirty",
	} {
		if got := Image("fio", version); got != want {
			t.Errorf("version %s gives %s, want %s", version, got, want)
		}
	}
}
