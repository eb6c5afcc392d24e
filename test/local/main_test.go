package local

import (
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	// The tests wait more than they compute. A -parallel on the command line is parsed later and takes precedence.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	if signal.Ignored(syscall.SIGHUP) { // as under nohup; the programs that the tests start would ignore it, too
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(Main(m))
}
