package burstfs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"reflect"
	"time"
)

// Watch applies a configuration file whenever its content changes, until the context ends. What cannot be
// applied is reported, and the store goes on as it is. It looks every quarter of a second; a file that is being
// written in place may be reported as faulty in between, one that is renamed into place never.
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
			continue // in the middle of being replaced, or the same
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
