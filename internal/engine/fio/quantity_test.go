package fio

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestWhole(t *testing.T) {
	for text, want := range map[string]int64{
		"4Ki": 4096, "0.5Gi": 512 << 20, "100Ti": 100 << 40, "500Ti": 500 << 40, "1Pi": 1 << 50, "1e3": 1000, "-4Ki": -4096, "0": 0,
	} {
		quantity := resource.MustParse(text)
		if got, ok := whole(&quantity); !ok || got != want {
			t.Errorf("%s is %d, %v; want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"0.7", "1.5", "100m", "0.0001Gi", "1e40", "-1e40", "9223372036854775807"} {
		quantity := resource.MustParse(text)
		if got, ok := whole(&quantity); ok {
			t.Errorf("%s is %d: it is no whole number that fits", text, got)
		}
	}
}
