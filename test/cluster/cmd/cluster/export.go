package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/cluster/burst"
)

// export serves the credits of a store for Prometheus until the context ends. It prints the address first.
func export(ctx context.Context, out io.Writer, store *burst.Store) error {
	config, err := store.Config()
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening for Prometheus: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		record, err := store.TruthCSV()
		if err == nil {
			var text string
			if text, err = credits(config, string(record)); err == nil {
				_, _ = io.WriteString(w, text)
				return
			}
		}
		http.Error(w, err.Error(), http.StatusInternalServerError)
	})}
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return fmt.Errorf("printing the address: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the credits: %w", err)
	}
	return nil
}

// credits returns the newest credits of a store's record in Prometheus' format, in percent of a full bucket.
func credits(config model.Config, record string) (string, error) {
	lines, err := csv.NewReader(strings.NewReader(record)).ReadAll()
	if err != nil || len(lines) == 0 {
		return "", fmt.Errorf("reading the store's record of %d lines: %w", len(lines), err)
	}
	newest := map[string]string{}
	for i, name := range lines[0] {
		newest[name] = lines[len(lines)-1][i]
	}
	var out strings.Builder
	for _, bucket := range config.Buckets {
		left, err := strconv.ParseFloat(newest["credits_"+bucket.Name], 64)
		if err != nil {
			continue // no second is complete yet
		}
		fmt.Fprintf(&out, "store_burst_balance{bucket=%q} %g\n", bucket.Name, 100*left/bucket.Size)
	}
	return out.String(), nil
}
