package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/storagebench/storagebench/test/soak"
)

// sideBySide is the number of tests that run in parallel. Most of them wait for the cluster, but more on two cores
// delay each other.
const sideBySide = "4"

func TestMain(m *testing.M) {
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "e2e: EVERYTHING IS SKIPPED: these tests need a Kubernetes cluster, which -short leaves out")
	}
	if !given("test.parallel") {
		if err := flag.Set("test.parallel", sideBySide); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	began := time.Now()
	if soak.Enabled() {
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
		go func() {
			<-interrupted
			if err := auditOperator(began, true); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			os.Exit(1)
		}()
	}
	code := m.Run()
	if soak.Enabled() {
		if err := auditOperator(began, code != 0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// given reports whether a flag was set on the command line.
func given(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sprintMB(bytesPerSecond int64) string {
	return fmt.Sprintf("%.1f MB/s", float64(bytesPerSecond)/1e6)
}
