package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/spelling"
)

// initOptions holds the flags of init.
type initOptions struct {
	claim, class, size, accessMode, duration, profile, file, output string
	clients                                                         int32
}

func newInit(streams Streams) *cobra.Command {
	options := initOptions{}
	command := &cobra.Command{
		Use:        "init [NAME] --claim CLAIM | --storage-class CLASS",
		SuggestFor: []string{"create", "new"},
		Short:      "Write a first benchmark for a claim or a storage class",
		Long: "Write a first StorageBenchmark, with comments that explain each line and what to change\n" +
			"next. The benchmark measures an existing claim, or new volumes of a storage class, which each run\n" +
			"creates and removes. The command does not contact a cluster: for a claim, set --size and --access-mode\n" +
			"if they are not 10Gi and ReadWriteOnce. --profile uses a workload from the library (see\n" +
			"`kubectl storagebench profiles`).",
		Example: "  kubectl storagebench init --claim data > bench.yaml\n" +
			"  kubectl storagebench init --claim shared --size 1Ti --access-mode ReadWriteMany --clients 4 > bench.yaml\n" +
			"  kubectl storagebench init nightly --storage-class gp3 --size 100Gi --clients 4 --file nightly.yaml\n" +
			"  kubectl storagebench run -f bench.yaml",
		Args: numberOfArguments(0, 1),
	}
	command.Flags().StringVar(&options.claim, "claim", "", "measure this PersistentVolumeClaim")
	command.Flags().StringVar(&options.class, "storage-class", "", "measure new volumes of this StorageClass")
	volumeFlags(command, &options, "", "the claim, or of each new volume")
	command.Flags().StringVar(&options.file, "file", "", "write to this new file instead of standard output")
	formFlag(command, &options.output, "yaml", "json")
	command.RunE = func(_ *cobra.Command, arguments []string) error {
		made := first{initOptions: options}
		if len(arguments) > 0 {
			made.name = arguments[0]
		}
		return runInit(streams, made)
	}
	return command
}

// volumeFlags adds the flags that describe the volumes and the clients of a benchmark. when is the prefix of each help
// text. It states when the flags apply, such as "with --storage-class: ", and is empty if they always apply. ofWhat
// completes "size of" in the help text of --size.
func volumeFlags(command *cobra.Command, options *initOptions, when, ofWhat string) {
	command.Flags().StringVar(&options.size, "size", "10Gi", when+"size of "+ofWhat+", at least 1Gi")
	command.Flags().StringVar(&options.accessMode, "access-mode", string(corev1.ReadWriteOnce),
		when+"ReadWriteOnce, ReadWriteMany or ReadWriteOncePod")
	command.Flags().Int32Var(&options.clients, "clients", 1, when+"number of client pods")
	command.Flags().StringVar(&options.duration, "duration", "60s", when+"how long each phase measures, such as 30s or 10m")
	command.Flags().StringVar(&options.profile, "profile", "", when+"the workload `profile` (default: random writes and reads of 64 KiB)")
	fixedValues(command, "profile", libraryNames()...)
	fixedValues(command, "access-mode", string(corev1.ReadWriteOnce), string(corev1.ReadWriteMany), string(corev1.ReadWriteOncePod))
}

func runInit(streams Streams, made first) error {
	if err := made.check(); err != nil {
		return err
	}
	if made.name == "" {
		made.name = nameOf("first-" + cmp.Or(made.claim, made.class))
	}
	if made.profile != "" {
		found, known := library.Find(made.profile)
		if !known {
			return fmt.Errorf("--profile %q: the library has no such profile%s", made.profile, nearestProfile(made.profile))
		}
		made.workload = fitted(&found.Spec.Engine, made.share())
		made.resized = made.workload != &found.Spec.Engine
	}
	if problems := validation.IsDNS1123Label(made.name); len(problems) > 0 || len(made.name) > v1alpha1.MaxBenchmarkNameLength {
		return fmt.Errorf("name %q: use at most %d lower-case letters, digits and dashes", made.name, v1alpha1.MaxBenchmarkNameLength)
	}
	text := made.yaml()
	written := &source{name: made.name, text: []byte(text)}
	all, err := understand([]*source{written}, loadOptions{seed: 1})
	if err != nil || len(written.faults) > 0 {
		if made.profile != "" {
			return fmt.Errorf("--profile %s does not fit these volumes:\n%s", made.profile, indent(errors.Join(err, written.faults).Error()))
		}
		return fmt.Errorf("internal error: the generated benchmark is not valid: %w", errors.Join(err, written.faults))
	}
	if err = made.fits(&all[0]); err != nil {
		return err
	}
	if made.output == "json" {
		return printAs(streams.Out, "json", initDocument{SchemaVersion: report.SchemaVersion, Name: made.name, YAML: text}, nil)
	}
	if made.file == "" {
		_, err = io.WriteString(streams.Out, text)
		return err
	}
	file, err := os.OpenFile(made.file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // A file that others may read.
	if err != nil {
		return fmt.Errorf("write the benchmark: %w", err)
	}
	_, err = io.WriteString(file, text)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write the benchmark: %w", errors.Join(err, os.Remove(made.file)))
	}
	_, _ = fmt.Fprintf(streams.Err, "Wrote %s.\n  show the plan:  kubectl storagebench plan -f %s\n  run it:         kubectl storagebench run -f %s\n",
		made.file, made.file, made.file)
	return nil
}

// initDocument is the JSON output of init: the benchmark that it wrote.
type initDocument struct {
	SchemaVersion int    `json:"schemaVersion"`
	Name          string `json:"name"`
	YAML          string `json:"yaml"`
}

func (o *initOptions) check() error {
	switch {
	case (o.claim == "") == (o.class == ""):
		return errors.New("specify either --claim or --storage-class")
	case o.clients < 1 || o.clients > 1000:
		return fmt.Errorf("--clients %d: must be 1 to 1000", o.clients)
	}
	if size, err := resource.ParseQuantity(o.size); err != nil || size.Value() < 1<<30 {
		return fmt.Errorf("--size %q: %s", o.size, sizeRemedy(o.size))
	}
	if length, err := v1alpha1.Duration(o.duration).Parse(); err != nil || length < time.Second || length > maxDuration {
		return fmt.Errorf("--duration %q: must be a duration from 1s to %s, such as 30s or 10m", o.duration, v1alpha1.DurationOf(maxDuration))
	}
	switch corev1.PersistentVolumeAccessMode(o.accessMode) {
	case corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod:
	default:
		return fmt.Errorf("--access-mode %q is unknown: use ReadWriteOnce, ReadWriteMany or ReadWriteOncePod", o.accessMode)
	}
	if o.claim != "" && o.accessMode == string(corev1.ReadWriteOncePod) && o.clients > 1 {
		return fmt.Errorf("--clients %d: only one pod can use a ReadWriteOncePod claim; use --clients 1 or another claim", o.clients)
	}
	for flag, value := range map[string]string{"--claim": o.claim, "--storage-class": o.class} {
		if problems := validation.IsDNS1123Subdomain(value); value != "" && len(problems) > 0 {
			return fmt.Errorf("%s %q: %s", flag, value, nameRemedy(value))
		}
	}
	return nil
}

// maxDuration is the maximum of --duration. The two measuring phases, which both last for --duration, must end within
// trialDeadline.
const maxDuration = 2 * time.Hour

// sizeRemedy returns a hint on how to write the size of a volume.
func sizeRemedy(text string) string {
	binary := spelling.BinarySize(text)
	size, err := resource.ParseQuantity(binary)
	_, given := resource.ParseQuantity(text)
	switch {
	case given == nil, err != nil, size.Value() < 1<<30:
		return "must be a size of at least 1Gi"
	case !strings.ContainsAny(text, "bB"):
		return "did you mean " + binary + "?"
	case strings.ContainsAny(text, "iI"):
		return "Kubernetes quantities do not end in B: use " + binary
	}
	return fmt.Sprintf("Kubernetes quantities do not end in B: use %s (powers of 1000) or %s (powers of 1024)", strings.TrimSuffix(binary, "i"), binary)
}

// nameRemedy returns a hint on how to write the name of a Kubernetes object.
func nameRemedy(name string) string {
	const rule = "Kubernetes names consist of lower-case letters, digits, dashes and dots"
	if lower := strings.ToLower(name); len(validation.IsDNS1123Subdomain(lower)) == 0 {
		return rule + "; did you mean " + lower + "?"
	}
	return rule + ", and begin and end with a letter or a digit"
}

var notInName = regexp.MustCompile(`[^a-z0-9-]+`)

// nameOf turns the name of another object into the name of a benchmark.
func nameOf(text string) string {
	text = notInName.ReplaceAllString(text, "-")
	return strings.Trim(text[:min(len(text), v1alpha1.MaxBenchmarkNameLength)], "-")
}
