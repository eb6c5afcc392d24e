package local

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	// The tests wait more than they compute. A -parallel of the command line comes later and wins.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(Main(m))
}
