package binaries

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
)

// progressEvery is the interval between messages about an unfinished build.
const progressEvery = 15 * time.Second

// counter is a writer for the output of `go build -v`. It counts modules and packages, and keeps all other lines, which
// are errors.
type counter struct {
	mutex    sync.Mutex
	partial  []byte
	modules  int
	packages int
	messages *bytes.Buffer
}

// Write implements io.Writer.
func (c *counter) Write(data []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.partial = append(c.partial, data...)
	for {
		line, rest, found := bytes.Cut(c.partial, []byte("\n"))
		if !found {
			return len(data), nil
		}
		c.partial = rest
		c.count(string(line))
	}
}

func (c *counter) count(line string) {
	switch {
	case strings.HasPrefix(line, "go: downloading "):
		c.modules++
	case line != "" && !strings.ContainsAny(line, " \t:#"):
		c.packages++
	default:
		c.messages.WriteString(line + "\n")
	}
}

// String describes the progress of the build.
func (c *counter) String() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	text := fmt.Sprintf("%d packages compiled", c.packages)
	if c.modules > 0 {
		text = fmt.Sprintf("%d modules downloaded, %s", c.modules, text)
	}
	return text
}

// tick prints the progress of a build at intervals until the returned function is called.
func (b builder) tick(start time.Time, counter *counter) func() {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				b.say("  still building after %s: %s", time.Since(start).Round(time.Second), counter)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

func (b builder) say(format string, arguments ...any) {
	// A build must not fail because a message cannot be printed.
	_, _ = fmt.Fprintf(b.progress, format+"\n", arguments...)
}
