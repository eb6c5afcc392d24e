package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/convert"
	"github.com/storagebench/storagebench/internal/report"
)

// converter converts a command line or a job file of a tool to workloads.
type converter struct {
	line func(arguments []string, options convert.Options) ([]convert.Workload, error)
	// file converts a job file. It is nil if the tool has no job files.
	file func(text []byte, options convert.Options) ([]convert.Workload, error)
}

var converters = map[string]converter{
	"diskspd": {line: convert.DiskSpd},
	"fio":     {line: convert.Fio, file: convert.FioJobFile},
	"ior":     {line: convert.IOR},
	"mdtest":  {line: convert.Mdtest},
}

type convertFlags struct {
	file, name, kind, output, datasetSize string
}

func newConvert(streams Streams) *cobra.Command {
	var flags convertFlags
	command := &cobra.Command{
		Use:   "convert diskspd|fio|ior|mdtest [-f FILE] [-- ARGUMENTS...]",
		Short: "Convert a command line or job file of another tool to a WorkloadProfile",
		Long: "Convert a command line of DiskSpd, fio, IOR or mdtest, or a fio job file, to a WorkloadProfile. Comments\n" +
			"at the top list what differs from the original, what belongs in the benchmark, and options that were left\n" +
			"out because they have no effect here. No option is dropped silently, and no size is guessed: if the tool\n" +
			"uses the size of an existing file, set the size with --dataset-size.",
		Example: "  kubectl storagebench convert diskspd -- diskspd.exe -c8G -b1M -d720 -t1 -o32 -w100 -Sh -L test.dat\n" +
			"  kubectl storagebench convert fio -f job.fio | kubectl apply -f -\n" +
			"  kubectl storagebench convert fio --dataset-size 8Gi -- --name=x --rw=randread --bs=4k --filename=/data/f\n" +
			"  kubectl storagebench convert ior -- mpirun -np 144 ior -w -t 1m -b 12000m -F -e -k -o /fsx/ior.dat\n" +
			"  kubectl storagebench convert mdtest -- mdtest -n 1000 -u -F -d /data",
		ValidArgs: slices.Sorted(maps.Keys(converters)),
		Args: func(command *cobra.Command, arguments []string) error {
			before := command.ArgsLenAtDash()
			if before < 0 {
				before = len(arguments)
			}
			if before != 1 {
				return errors.New("specify one tool (diskspd, fio, ior or mdtest), followed by -f FILE or by -- and its command line")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, arguments []string) error {
			workloads, err := flags.convert(streams, arguments[0], arguments[1:])
			if err != nil {
				return err
			}
			return flags.write(streams, arguments[0], workloads)
		},
	}
	command.Flags().StringVarP(&flags.file, "file", "f", "", "fio job file; - for standard input")
	command.Flags().StringVar(&flags.name, "name", "", "name of the profile (default: the name of the job, or of the tool)")
	command.Flags().StringVar(&flags.kind, "kind", v1alpha1.WorkloadProfileKind, "WorkloadProfile or ClusterWorkloadProfile")
	command.Flags().StringVar(&flags.datasetSize, "dataset-size", "", "bytes per client, such as 8Gi, if the command line relies on existing files")
	formFlag(command, &flags.output, "yaml", "json")
	return command
}

func (f *convertFlags) convert(streams Streams, tool string, line []string) ([]convert.Workload, error) {
	with, known := converters[tool]
	options := convert.Options{Name: f.name, ReadFile: func(name string) ([]byte, error) { return readWhole(streams, name) }}
	switch {
	case !known:
		return nil, fmt.Errorf("cannot convert %q: use diskspd, fio, ior or mdtest", tool)
	case f.kind != v1alpha1.WorkloadProfileKind && f.kind != v1alpha1.ClusterWorkloadProfileKind:
		return nil, fmt.Errorf("--kind %q is unknown: use WorkloadProfile or ClusterWorkloadProfile", f.kind)
	case f.file != "" && len(line) > 0:
		return nil, errors.New("-f and a command line are mutually exclusive: use one of them")
	case f.file != "" && with.file == nil:
		return nil, fmt.Errorf("-f is supported only for fio: specify the command line of %s after --", tool)
	}
	if f.name != "" {
		if problems := validation.IsDNS1123Label(f.name); len(problems) > 0 {
			return nil, fmt.Errorf("--name %q: %s", f.name, strings.Join(problems, "; "))
		}
	}
	if f.datasetSize != "" {
		size, err := resource.ParseQuantity(f.datasetSize)
		if err != nil || size.Value() <= 0 {
			return nil, fmt.Errorf("--dataset-size %q: must be a size above 0, such as 8Gi", f.datasetSize)
		}
		options.DatasetBytes = size.Value()
	}
	if f.file == "" {
		return with.line(line, options)
	}
	text, err := readWhole(streams, f.file)
	if err != nil {
		return nil, err
	}
	return with.file(text, options)
}

// maxConvertBytes is the maximum size of an input file. It limits memory use, and is far larger than any hand-written
// file.
const maxConvertBytes = 4 << 20

// readWhole reads a file, or returns an error if the file is larger than maxConvertBytes.
func readWhole(streams Streams, name string) ([]byte, error) {
	file, err := openInput(streams, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxConvertBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxConvertBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB: shorten it, or convert it in parts", name, maxConvertBytes>>20)
	}
	return text, nil
}

// convertDocument is the output of convert as JSON.
type convertDocument struct {
	SchemaVersion int               `json:"schemaVersion"`
	Tool          string            `json:"tool"`
	Workloads     []convertWorkload `json:"workloads"`
}

type convertWorkload struct {
	Name string                       `json:"name"`
	Spec v1alpha1.WorkloadProfileSpec `json:"spec"`
	// DurationSeconds and WarmUpSeconds are the times to set in the phase, and Processes is the number of MPI ranks.
	// Each is 0 if the command line or job file does not specify it.
	DurationSeconds float64        `json:"durationSeconds"`
	WarmUpSeconds   float64        `json:"warmUpSeconds"`
	Processes       int64          `json:"processes"`
	Notes           []convert.Note `json:"notes"`
}

func (f *convertFlags) write(streams Streams, tool string, workloads []convert.Workload) error {
	if f.output == "yaml" {
		text, err := convert.YAML(workloads, f.kind)
		if err != nil {
			return err
		}
		_, err = io.WriteString(streams.Out, text)
		return err
	}
	document := convertDocument{SchemaVersion: report.SchemaVersion, Tool: tool}
	for i := range workloads {
		w := &workloads[i]
		document.Workloads = append(document.Workloads, convertWorkload{
			Name: w.Name, Spec: w.Spec, DurationSeconds: w.Duration.Seconds(), WarmUpSeconds: w.WarmUp.Seconds(), Processes: w.Processes,
			Notes: append([]convert.Note{}, w.Notes...),
		})
	}
	encoder := json.NewEncoder(streams.Out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
