package local

import (
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	// The tests wait more than they compute. A -parallel of the command line comes later and wins.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // as by nohup; what the tests start would ignore it as well
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(Main(m))
}
