package burstfs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"time"
)

// Watch applies a configuration file whenever its content changes, until the context ends. It calls report with
// configurations that cannot be applied, and keeps the current one. It checks the file every quarter of a second. A
// file that is being written in place may be reported as invalid; a file that is renamed into place never is.
func (f *FS) Watch(ctx context.Context, name string, report func(error)) {
	var last []byte
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		text, err := os.ReadFile(name)
		if err != nil || bytes.Equal(text, last) {
			continue // the file is being replaced, or has not changed
		}
		last = text
		config, err := Parse(text)
		if err == nil && !reflect.DeepEqual(config, f.Config()) {
			err = f.Set(config)
		}
		if err != nil {
			report(fmt.Errorf("%s is not applied: %w", name, err))
		}
	}
}
