package main

import (
	"context"
	"encoding/json"
	"os"
	"time"
)

// watch returns a channel that receives the objects of a kind whenever they change. It uses a single kubectl that keeps
// running, because polling would start a process for each poll and take CPU time from the fio processes that are being
// measured on the same machine.
func watch[T any](ctx context.Context, d *demo, kind string) <-chan *T {
	seen := make(chan *T)
	go func() {
		// kubectl exits when the API server closes the watch, which is normal. The next kubectl first lists the
		// existing objects.
		for ctx.Err() == nil {
			if err := watchOnce(ctx, d, kind, seen); err != nil && ctx.Err() == nil {
				d.say("watching %s: %v", kind, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}()
	return seen
}

func watchOnce[T any](ctx context.Context, d *demo, kind string, seen chan<- *T) error {
	command := d.kubectlCommand(ctx, "-n", namespace, "get", kind, "--watch", "--output=json")
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	defer command.Wait() //nolint:errcheck // it ends with its output, or with the context
	decoder := json.NewDecoder(out)
	for {
		object := new(T)
		if err := decoder.Decode(object); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case seen <- object:
		}
	}
}
