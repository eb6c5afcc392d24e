package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/cluster/burst"
)

// stores runs the command burst.
func stores(ctx context.Context, out io.Writer, state cluster.State, arguments []string) error {
	verb := ""
	if len(arguments) > 0 {
		verb, arguments = arguments[0], arguments[1:]
	}
	flags := flag.NewFlagSet("burst "+verb, flag.ContinueOnError)
	name := flags.String("name", "store", "name of the store, its volume and its claim")
	namespace := flags.String("namespace", "default", "namespace of the claim")
	var operand string
	if verb == "up" && len(arguments) > 0 {
		operand, arguments = arguments[0], arguments[1:]
	}
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("burst %s takes no %q", verb, flags.Args())
	case verb == "up":
		return storeUp(ctx, out, state, operand, *name, *namespace)
	case verb == "list":
		found, err := burst.List(state)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, strings.Join(found, "\n"))
		return err
	}
	store, err := burst.Find(state, *name)
	if err != nil {
		return err
	}
	switch verb {
	case "down":
		return store.End(ctx)
	case "truth":
		text, err := store.TruthCSV()
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	case "export":
		return export(ctx, out, store)
	case "compare":
		return compare(out, store, os.Stdin)
	default:
		return errors.New("burst needs one of up SCENARIO|FILE, down, truth, export, compare and list")
	}
}

// storeUp starts a store that stays, and prints its volume and its claim for kubectl.
func storeUp(ctx context.Context, out io.Writer, state cluster.State, what, name, namespace string) error {
	config, err := storeConfig(what)
	if err != nil {
		return err
	}
	store, err := burst.Start(ctx, state, burst.Options{Name: name, Config: config, Stays: true})
	if err != nil {
		return err
	}
	for _, object := range []any{store.Volume(namespace, name), store.Claim(namespace, name)} {
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("writing an object of store %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return fmt.Errorf("printing an object of store %s: %w", name, err)
		}
	}
	return nil
}

// compare prints the figures of a run, given as JSON, beside the store's record.
func compare(out io.Writer, store *burst.Store, from io.Reader) error {
	var run v1alpha1.BenchmarkRun
	if err := json.NewDecoder(from).Decode(&run); err != nil {
		return fmt.Errorf("reading the BenchmarkRun from standard input: %w", err)
	}
	config, err := store.Config()
	if err != nil {
		return err
	}
	record, err := store.Truth()
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, truth.Table(truth.Compare(record, config, run.Status)))
	return err
}

// storeConfig reads a configuration from a file, or returns the scenario of that name.
func storeConfig(what string) (model.Config, error) {
	if _, err := os.Stat(what); err == nil {
		return burstfs.Read(what)
	}
	return burstfs.Scenario(what)
}
