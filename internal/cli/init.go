package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
)

// initOptions holds the flags of init.
type initOptions struct {
	claim, class, size, accessMode, file, output string
	clients                                      int32
	offline                                      bool
}

func newInit(streams Streams) *cobra.Command {
	options := initOptions{}
	command := &cobra.Command{
		Use:   "init [NAME] [--claim CLAIM | --storage-class CLASS]",
		Short: "Write a first benchmark for a claim or a storage class",
		Long: "Write a first StorageBenchmark, with comments that explain each line and what to change\n" +
			"next. It reads from the cluster how large a claim is, how many nodes can use it at once, and\n" +
			"how many nodes there are. Without --claim and --storage-class it offers a choice on a terminal; otherwise it\n" +
			"uses the default storage class: each run creates its own claims and removes them.\n\n" +
			"--offline reads nothing from a cluster and uses the flags only. Nothing is created in the cluster.",
		Example: "  kubectl storagebench init --claim data > bench.yaml\n" +
			"  kubectl storagebench init nightly --storage-class gp3 --size 100Gi --clients 4 --file nightly.yaml\n" +
			"  kubectl storagebench init --claim data --offline --access-mode ReadWriteMany > bench.yaml\n" +
			"  kubectl storagebench run -f bench.yaml",
		Args: cobra.MaximumNArgs(1),
	}
	flags := newClusterFlags(command)
	command.Flags().StringVar(&options.claim, "claim", "", "measure this PersistentVolumeClaim")
	command.Flags().StringVar(&options.class, "storage-class", "", "measure new volumes of this StorageClass")
	command.Flags().StringVar(&options.size, "size", "", "size of new volumes, such as 100Gi (default 10Gi)")
	command.Flags().StringVar(&options.accessMode, "access-mode", "", "ReadWriteOnce, ReadWriteMany or ReadWriteOncePod (default: the claim's; ReadWriteOnce for new volumes)")
	command.Flags().Int32Var(&options.clients, "clients", 0, "number of client pods (default: as fits the cluster and the claim)")
	command.Flags().BoolVar(&options.offline, "offline", false, "ask no cluster")
	command.Flags().StringVar(&options.file, "file", "", "write to this new file instead of standard output")
	formFlag(command, &options.output, "yaml", "json")
	fixedValues(command, "access-mode", string(corev1.ReadWriteOnce), string(corev1.ReadWriteMany), string(corev1.ReadWriteOncePod))
	command.RunE = func(command *cobra.Command, arguments []string) error {
		name := ""
		if len(arguments) > 0 {
			name = arguments[0]
		}
		return runInit(command.Context(), streams, flags, options, name)
	}
	return command
}

func runInit(ctx context.Context, streams Streams, flags *clusterFlags, options initOptions, name string) error {
	if err := options.check(); err != nil {
		return err
	}
	made := first{options: options}
	if options.offline {
		if options.claim == "" && options.class == "" {
			return errors.New("--offline needs --claim or --storage-class")
		}
		made.assume()
	} else {
		cluster, err := flags.connect()
		if err != nil {
			return err
		}
		if err := made.ask(ctx, streams, cluster); err != nil {
			return fmt.Errorf("%w (use --offline without a cluster)", err)
		}
	}
	if made.name = name; name == "" {
		made.name = "first-" + cmp.Or(made.options.claim, made.options.class)
		made.name = nameOf(made.name)
	}
	if problems := validation.IsDNS1123Label(made.name); len(problems) > 0 || len(made.name) > v1alpha1.MaxBenchmarkNameLength {
		return fmt.Errorf("name %q: use at most %d lower-case letters, digits and dashes", made.name, v1alpha1.MaxBenchmarkNameLength)
	}
	text := made.yaml()
	written := &source{name: made.name, text: []byte(text)}
	if _, err := understand([]*source{written}, loadOptions{seed: 1}); err != nil || len(written.faults) > 0 {
		return fmt.Errorf("internal error: the benchmark written is not valid: %w", errors.Join(err, written.faults))
	}
	if options.output == "json" {
		return printAs(streams.Out, "json", initDocument{SchemaVersion: report.SchemaVersion, Name: made.name, YAML: text}, nil)
	}
	if options.file == "" {
		_, err := io.WriteString(streams.Out, text)
		return err
	}
	file, err := os.OpenFile(options.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // A file that others may read.
	if err != nil {
		return fmt.Errorf("write the benchmark: %w", err)
	}
	_, err = io.WriteString(file, text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the benchmark: %w", err)
	}
	_, _ = fmt.Fprintf(streams.Err, "Wrote %s.\n  show the plan:  kubectl storagebench plan -f %s\n  run it:         kubectl storagebench run -f %s\n",
		options.file, options.file, options.file)
	return nil
}

// initDocument is the benchmark that was written, as JSON.
type initDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Name          string `json:"name"`
	YAML          string `json:"yaml"`
}

func (o *initOptions) check() error {
	switch {
	case o.claim != "" && o.class != "":
		return errors.New("--claim and --storage-class are mutually exclusive: give one of them")
	case o.claim != "" && o.size != "":
		return errors.New("--size is for new volumes of a --storage-class; a claim has its own size")
	case o.clients < 0 || o.clients > 1000:
		return fmt.Errorf("--clients %d: give 1 to 1000", o.clients)
	}
	if o.size != "" {
		if size, err := resource.ParseQuantity(o.size); err != nil || size.Value() < 1<<30 {
			return fmt.Errorf("--size %q: write a size of at least 1Gi, such as 100Gi", o.size)
		}
	}
	switch corev1.PersistentVolumeAccessMode(o.accessMode) {
	case "", corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod:
	default:
		return fmt.Errorf("--access-mode %q is unknown: use ReadWriteOnce, ReadWriteMany or ReadWriteOncePod", o.accessMode)
	}
	for flag, value := range map[string]string{"--claim": o.claim, "--storage-class": o.class} {
		if problems := validation.IsDNS1123Subdomain(value); value != "" && len(problems) > 0 {
			return fmt.Errorf("%s %q: %s", flag, value, problems[0])
		}
	}
	return knownForm(o.output, "yaml", "json")
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)

// nameOf turns the name of another object into the name of a benchmark.
func nameOf(text string) string {
	text = notInName.ReplaceAllString(text, "-")
	return strings.Trim(text[:min(len(text), v1alpha1.MaxBenchmarkNameLength)], "-")
}

// interactive reports whether standard input and standard error are terminals, so that the user can be asked.
func interactive(streams Streams) bool {
	in, isFile := streams.In.(*os.File)
	if !isFile || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	out, isFile := streams.Err.(*os.File)
	return isFile && term.IsTerminal(int(out.Fd()))
}
