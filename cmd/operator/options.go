package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/storagebench/storagebench/internal/version"
)

// Names of the images of this version.
const (
	operatorImage = "storagebench.dev/operator"
	fioImage      = "storagebench.dev/fio"
)

// options are what the command line says.
type options struct {
	agentImage  string
	fioImage    string
	namespace   string
	metrics     string
	health      string
	logLevel    slog.Level
	showVersion bool
}

func parse(arguments []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("storagebench-operator", flag.ContinueOnError)
	flags.SetOutput(output)
	config.RegisterFlags(flags)
	flags.StringVar(&o.agentImage, "agent-image", operatorImage+":"+imageTag(version.Version),
		"`image` that holds /storagebench-agent, which is copied into the clients")
	flags.StringVar(&o.fioImage, "fio-image", fioImage+":"+imageTag(version.Version),
		"`image` of clients that run fio, unless a benchmark names one")
	flags.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"),
		"the operator's own `namespace`, with its Lease and its master key; by default $POD_NAMESPACE")
	flags.StringVar(&o.metrics, "metrics-bind-address", "127.0.0.1:8080",
		"`address` of the metrics; they are served to anybody who can reach it, so by default only through "+
			"kubectl port-forward; 0 turns them off")
	flags.StringVar(&o.health, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 turns them off")
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least `level` of the log: debug, info, warn or error")
	flags.BoolVar(&o.showVersion, "version", false, "print the version and exit")
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: all is given by flags, see --help", flags.Arg(0))
	}
	if o.showVersion {
		return o, nil
	}
	for _, needed := range []struct{ flag, value, remedy string }{
		{"--namespace", o.namespace, "give it, or set POD_NAMESPACE, which config/default does"},
		{"--agent-image", o.agentImage, "leave it out for that of this version"},
		{"--fio-image", o.fioImage, "leave it out for that of this version"},
	} {
		if needed.value == "" {
			return options{}, fmt.Errorf("%s is empty: %s", needed.flag, needed.remedy)
		}
	}
	return o, nil
}

// imageTag makes a tag of a version: a tag has no +, which a version of a changed tree has.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }

// logTo sends the log of everything in this process, one JSON object a line.
func (o *options) logTo(log io.Writer) {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: o.logLevel}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}
