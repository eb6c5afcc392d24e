package spelling

import "testing"

func TestBinarySize(t *testing.T) {
	for text, want := range map[string]string{
		"8K": "8Ki", "8k": "8Ki", "64MB": "64Mi", "64mib": "64Mi", "1 GiB": "1Gi", "1.5Ti": "1.5Ti", "2pB": "2Pi",
		"": "", "8": "", "8B": "", "8  K": "", "8Ei": "", "-8K": "", ".5K": "", "8KK": "", "8K\n": "",
	} {
		if got := BinarySize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
