package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/report"
)

type runOptions struct {
	files   []string
	local   bool
	targets []string
	output  string
	// verbose adds details to the text report.
	verbose bool
	fio     string
	// prometheus configures the Prometheus that evaluates the observations of a local run. Its URL is empty if there
	// is none.
	prometheus prometheus.Config
	// save lists the files to which the result is also written.
	save []string
	// watch makes the command follow a run in a cluster to its end. forceConflicts makes it take over fields that other
	// field managers own.
	watch, forceConflicts bool
	// repeat is the number of consecutive runs.
	repeat int
	// price is the price of storage and nodes per hour, or 0 if it is not given.
	price float64
	// class holds the flags that describe the volumes and clients for --storage-class.
	class initOptions
}

const saveUsage = "also write the result to this file (repeatable); format by suffix: .html, .md, .json, .yaml, .csv or .txt"

func newRun(streams Streams, arguments []string) *cobra.Command {
	var options runOptions
	command := &cobra.Command{
		Use:        "run -f FILE [--local --target NAME=DIR] | --storage-class CLASS [--profile PROFILE]",
		SuggestFor: []string{"start", "apply"},
		Short:      "Run a benchmark, in a cluster or on this machine, and show its result",
		Long: "Run the StorageBenchmark in a file, show its progress (a live view on a terminal, otherwise plain lines), and\n" +
			"then show the result.\n\n" +
			"In a cluster, the file is applied (server-side, with the profiles in it) and the resulting run is\n" +
			"followed. If the same specification was run before, another run is requested. Ctrl-C stops watching; the run\n" +
			"continues. --watch=false only prints the name of the run.\n\n" +
			"With --storage-class, the command measures new volumes of that StorageClass, without a file: it creates claims\n" +
			"and a benchmark, runs it, shows the result and removes everything, even after Ctrl-C; -v shows the full result,\n" +
			"and --save keeps it. If this program dies, the cluster removes the volumes at the end of the run and the rest some\n" +
			"hours later. --profile selects a workload: a WorkloadProfile of the namespace, a ClusterWorkloadProfile, or\n" +
			"one from the library (see `kubectl storagebench profiles`). Without it, random writes and reads of 64 KiB are\n" +
			"measured, each for --duration.\n\n" +
			"With --repeat N, the benchmark runs N times, and the result shows how much the runs vary: mean, 95 %\n" +
			"interval, standard deviation and coefficient of variation of each figure. A run does not wait for the burst\n" +
			"credits that the previous run spent: to wait, end the phases with a cooldown. With --repeat, --save\nnumbers its files.\n\n" +
			"With --local, the benchmark runs on directories of this machine, with agents as child processes, without a\n" +
			"cluster or root. Only files below DIR/.storagebench are written, and they are removed at the end unless the\n" +
			"target's dataPolicy is Retain. Ctrl-C stops the run and shows the results so far.\n\n" +
			exitCodes + "\n130 if watching a run in a cluster was interrupted.",
		Example: "  kubectl storagebench run -f config/samples/quickstart.yaml\n" +
			"  kubectl storagebench run -f nightly.yaml --watch=false -n storage-tests\n" +
			"  kubectl storagebench run --local -f config/samples/quickstart.yaml --target data=/mnt/data\n" +
			"  kubectl storagebench run --local -f bench.yaml --target data=/mnt/data -o json > result.json\n" +
			"  kubectl storagebench run -f bench.yaml --save result.json --save report.html\n" +
			"  kubectl storagebench run -f bench.yaml --repeat 5 --price-per-hour 2.5\n" +
			"  kubectl storagebench run --storage-class gp3 --duration 5m\n" +
			"  kubectl storagebench run --storage-class gp3 --size 200Gi --profile oltp-8k -n storage-tests",
		Args: cobra.ArbitraryArgs,
	}
	flags := newClusterFlags(command)
	command.RunE = func(command *cobra.Command, more []string) error {
		options.files = append(options.files, more...)
		if err := options.check(command); err != nil {
			return err
		}
		return run(command.Context(), streams, arguments, options, flags)
	}
	filesFlag(command, &options.files, "file or directory with one StorageBenchmark and the profiles that it uses (repeatable); - for standard input, except with --local")
	command.Flags().BoolVar(&options.local, "local", false, "run on this machine, without a cluster")
	command.Flags().StringArrayVar(&options.targets, "target", nil, "NAME=DIR: directory for a target (repeatable); NAME=DIR,DIR for a target with several volumes")
	command.Flags().StringVar(&options.fio, "fio", "", "path of fio (default: from PATH)")
	prometheusFlags(command, &options.prometheus)
	command.Flags().StringArrayVar(&options.save, "save", nil, saveUsage)
	command.Flags().BoolVar(&options.watch, "watch", true, "follow a run in a cluster until it ends, and show its result")
	command.Flags().BoolVar(&options.forceConflicts, "force-conflicts", false, "in a cluster: take over fields that another manager has set")
	command.Flags().IntVar(&options.repeat, "repeat", 1, "number of consecutive runs; if more than one, the result shows how much they vary")
	priceFlag(command, &options.price)
	command.Flags().StringVar(&options.class.class, "storage-class", "", "measure new volumes of this StorageClass, and remove everything at the end")
	volumeFlags(command, &options.class, "with --storage-class: ", "each new volume")
	outputFlag(command, &options.output, &options.verbose)
	return command
}

func prometheusFlags(command *cobra.Command, config *prometheus.Config) {
	command.Flags().StringVar(&config.URL, "prometheus", "", "with --local: URL of the Prometheus that evaluates the benchmark's observations")
	command.Flags().StringVar(&config.TokenFile, "prometheus-token-file", "", "with --local: file with a bearer token for Prometheus")
	command.Flags().StringVar(&config.CAFile, "prometheus-ca-file", "", "with --local: file with the CA certificates that verify the certificate of Prometheus")
	command.Flags().DurationVar(&config.Interval, "prometheus-interval", prometheus.DefaultInterval, "with --local: scrape interval of Prometheus; the run waits up to five intervals for late data")
}

// check returns an error for flags that cannot be combined.
func (o *runOptions) check(command *cobra.Command) error {
	changed := func(names ...string) string {
		for _, name := range names {
			if command.Flags().Changed(name) {
				return "--" + name
			}
		}
		return ""
	}
	if flag := changed("namespace", "context", "kubeconfig", "force-conflicts", "watch"); o.local && flag != "" {
		return fmt.Errorf("%s is supported only for a run in a cluster: remove it, or remove --local", flag)
	}
	if flag := changed("prometheus", "prometheus-token-file", "prometheus-ca-file", "prometheus-interval"); flag != "" {
		if !o.local {
			return fmt.Errorf("%s requires --local: in a cluster, the operator queries the Prometheus server of its --prometheus-url", flag)
		}
		if err := o.prometheus.Check(); err != nil {
			return fmt.Errorf("--prometheus: %w", err)
		}
	}
	if changed("storage-class") == "" {
		if flag := changed("profile", "size", "access-mode", "clients", "duration"); flag != "" {
			return fmt.Errorf("%s requires --storage-class: with -f, set it in the file", flag)
		}
		return nil
	}
	if o.class.class == "" {
		return errors.New(`--storage-class "": must be the name of a StorageClass; see kubectl get storageclasses`)
	}
	if flag := changed("local", "target", "fio", "force-conflicts", "watch"); flag != "" || len(o.files) > 0 {
		return fmt.Errorf("--storage-class creates its own benchmark in a cluster: remove %s", cmp.Or(flag, "-f"))
	}
	return nil
}

// checkOutputs returns an error if a file given with --save cannot be written. It also rejects --save with
// --watch=false, because there is then no result to save. In addition, it checks --price-per-hour and --repeat.
func (o *runOptions) checkOutputs() error {
	if !o.watch && len(o.save) > 0 {
		return errors.New("--save and --watch=false are mutually exclusive, because a run that is not followed has no result to save: remove one of them")
	}
	if err := o.checkRepeat(); err != nil {
		return err
	}
	for _, name := range o.save {
		if _, err := formOf(name); err != nil {
			return fmt.Errorf("--save %q: %w", name, err)
		}
		for i := range o.repeat {
			file := o.fileOf(name, i+1)
			if err := checkWritable(file); err != nil {
				return fmt.Errorf("--save %s: %w", file, err)
			}
		}
	}
	return checkPrice(o.price)
}

// exitCodes describes the exit codes of commands that show a run.
const exitCodes = "Exit codes: 0 if the run is complete and valid and all objectives are met; 1 if it could not run to\n" +
	"completion; 2 if an objective was missed or a regression was found; 3 if the result is not valid;"

func run(ctx context.Context, streams Streams, arguments []string, options runOptions, flags *clusterFlags) error {
	if err := options.checkOutputs(); err != nil {
		return err
	}
	if options.class.class != "" {
		return runOnClass(ctx, streams, options, flags)
	}
	if !options.local {
		return runInCluster(ctx, streams, options, flags)
	}
	return runHere(ctx, streams, arguments, options)
}

// forms maps the extensions of file names to output formats.
var forms = map[string]string{".html": "html", ".md": "markdown", ".json": "json", ".yaml": "yaml", ".csv": "csv", ".txt": "text"}

func formOf(name string) (string, error) {
	form, known := forms[filepath.Ext(name)]
	if !known {
		return "", errors.New("use the suffix .html, .md, .json, .yaml, .csv or .txt")
	}
	return form, nil
}

// checkWritable returns an error if a file cannot be written. It is called before a run, which may take hours.
func checkWritable(name string) error {
	folder := filepath.Dir(name)
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %s does not exist: create it", folder)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", folder)
	}
	if isDirectory(name) {
		return errors.New("is a directory: use the name of a file")
	}
	checked := folder
	if _, err := os.Stat(name); err == nil {
		checked = name
	}
	if err := unix.Access(checked, unix.W_OK); err != nil {
		return fmt.Errorf("cannot write to %s: %w", checked, err)
	}
	return nil
}

// present writes a result to files and then shows it. The files come first, because showing the result can fail, or can
// end the program if the reader of standard output, such as head, has exited.
func present(streams Streams, options runOptions, document report.Document) error {
	unsaved := save(streams, options.save, document)
	text := reportOptions(streams, options.verbose)
	text.Details = options.details(document)
	return errors.Join(unsaved, write(streams.Out, options.output, document, text))
}

// details returns a hint on how to show the details of a result, from the cluster or from a saved file.
func (o *runOptions) details(document report.Document) string {
	if !o.local && o.class.class == "" {
		return fmt.Sprintf("`kubectl storagebench report run/%s -n %s -v` shows them", document.Run, document.Namespace)
	}
	for _, name := range o.save {
		if form, err := formOf(name); err == nil && (form == "json" || form == "yaml") {
			return "`kubectl storagebench report " + name + " -v` shows them"
		}
	}
	return "-v shows them, as does `report FILE.json -v` after --save FILE.json"
}

// save writes a result to the files with the given names. If a file cannot be written, save still writes the other
// files.
func save(streams Streams, names []string, document report.Document) error {
	var problems []error
	for _, name := range names {
		if err := saveAs(name, document); err != nil {
			problems = append(problems, fmt.Errorf("--save %s: %w", name, err))
			continue
		}
		_, _ = fmt.Fprintf(streams.Err, "wrote %s\n", name)
	}
	return errors.Join(problems...)
}

func saveAs(name string, document report.Document) error {
	form, err := formOf(name)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := write(&text, form, document, report.TextOptions{Verbose: true}); err != nil {
		return err
	}
	return replaceFile(name, text.Bytes())
}
