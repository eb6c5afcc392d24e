// Package leftover finds goroutines and processes that the tests of a package have left running.
package leftover

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"

	"github.com/storagebench/storagebench/internal/process"
	"github.com/storagebench/storagebench/test/hang"
)

// Check returns an error if goroutines or processes of the tests are left. It first waits for those that end in the
// background, such as a killed process that has not been reaped.
func Check() error {
	for end := time.Now().Add(hang.Guard); ; time.Sleep(100 * time.Millisecond) {
		err := goleak.Find()
		if err == nil {
			var below []process.Process
			if below, err = process.Descendants(os.Getpid()); err == nil && len(below) > 0 {
				err = fmt.Errorf("processes are left: %v", below)
			}
		}
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
