package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/controllers/catalog"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/version"
)

// Names of the images of this version.
const (
	operatorImage = "storagebench.dev/operator"
	fioImage      = "storagebench.dev/fio"
	iorImage      = "storagebench.dev/ior"
)

// options are what the command line says.
type options struct {
	agentImage string
	fioImage   string
	iorImage   string
	namespace  string
	metrics    string
	// metricsSecure asks for TLS and for the right to read metrics, metricsCertificate is a folder with tls.crt and tls.key.
	metricsSecure      bool
	metricsCertificate string
	limits             string
	health             string
	// namespaces that are watched; none is all of them.
	namespaces []string
	// profileLibrary asks for the library of ClusterWorkloadProfiles.
	profileLibrary bool
	// sharedQueues are one in all namespaces.
	sharedQueues []string
	// pullSecrets and clientLabels are of the pods of all runs.
	pullSecrets  []objects.PullSecret
	clientLabels map[string]string
	lossTimeout  time.Duration
	parallelRuns int
	logLevel     slog.Level
	showVersion  bool
	// check asks an installation whether it works, in place of being an operator.
	check bool
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
	flags.StringVar(&o.iorImage, "ior-image", iorImage+":"+imageTag(version.Version),
		"`image` of clients of runs with ior or mdtest in them, unless a benchmark names one; it has fio too")
	flags.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"),
		"the operator's own `namespace`, with its Lease and its master key; by default $POD_NAMESPACE")
	flags.StringVar(&o.metrics, "metrics-bind-address", "127.0.0.1:8080",
		"`address` of the metrics; without --metrics-secure they are served to anybody who can reach it, so by default only "+
			"through kubectl port-forward; 0 turns them off")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", false,
		"serve the metrics by TLS, and only to who may get /metrics, as the API server says; config/metrics gives the operator "+
			"the right to ask")
	flags.StringVar(&o.metricsCertificate, "metrics-certificate-dir", "",
		"`folder` with tls.crt and tls.key for --metrics-secure, read again when they change; by default the operator makes a "+
			"certificate of its own at each start")
	flags.StringVar(&o.limits, "limits-config-map", catalog.DefaultName,
		"`name` of a ConfigMap in the operator's namespace with documented limits beside or in place of those of this "+
			"version; it need not be there. The operator's Role lets it read that of the default name")
	flags.BoolVar(&o.profileLibrary, "profile-library", true, "make the ClusterWorkloadProfiles of this version's library at the "+
		"start; false leaves them out. An operator of some --namespaces never does: they are of the whole cluster")
	flags.Func("namespaces", "`names`, with commas between them, of the namespaces that are watched: benchmarks of others are not run; "+
		"by default all. config/namespaced and the chart's watch.namespaces give the operator the rights for that, and no more",
		namesInto(&o.namespaces, "namespace"))
	flags.Func("shared-queues", "`names`, with commas between them, of queues that are one in all namespaces; others are of their namespace",
		namesInto(&o.sharedQueues, "queue"))
	flags.Func("client-pull-secrets", "`[REGISTRY=]NAME`s, with commas between them, of image pull Secrets that the pods of runs refer to, beside those that "+
		"a benchmark names: with a REGISTRY, such as registry.example/mirror, only where an image is from there. The Secrets have to be in "+
		"the namespaces of benchmarks", o.addPullSecrets)
	flags.Func("client-labels", "`KEY=VALUE`s, with commas between them: labels of the pods of all runs, unless a benchmark gives them another value", o.addClientLabels)
	flags.DurationVar(&o.lossTimeout, "loss-timeout", time.Minute,
		"how `long` an agent whose pod seems to live may be out of reach before its client is lost")
	flags.IntVar(&o.parallelRuns, "parallel-runs", 8, "`number` of runs that are looked after at a time. Others wait for milliseconds, as a rule; "+
		"to keep runs from overlapping use queues")
	flags.StringVar(&o.health, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 turns them off")
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "least `level` of the log: debug, info, warn or error")
	flags.BoolVar(&o.check, "check", false, "ask whether the operator that is installed in --namespace works, say so and exit, as helm test does")
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
	if o.metricsCertificate != "" && !o.metricsSecure {
		return options{}, fmt.Errorf("--metrics-certificate-dir is %q without --metrics-secure: give that too, or leave the folder out", o.metricsCertificate)
	}
	if o.lossTimeout < time.Second {
		return options{}, fmt.Errorf("--loss-timeout is %s: give at least 1s; a network hiccup would end runs", o.lossTimeout)
	}
	if o.parallelRuns < 1 || o.parallelRuns > 1000 {
		return options{}, fmt.Errorf("--parallel-runs is %d: give 1 to 1000", o.parallelRuns)
	}
	for _, needed := range []struct{ flag, value, remedy string }{
		{"--namespace", o.namespace, "give it, or set POD_NAMESPACE, which config/default does"},
		{"--limits-config-map", o.limits, "leave it out; a ConfigMap that is not there changes nothing"},
		{"--agent-image", o.agentImage, "leave it out for that of this version"},
		{"--fio-image", o.fioImage, "leave it out for that of this version"},
		{"--ior-image", o.iorImage, "leave it out for that of this version"},
	} {
		if needed.value == "" {
			return options{}, fmt.Errorf("%s is empty: %s", needed.flag, needed.remedy)
		}
	}
	return o, nil
}

// namesInto adds the names of a list to others, each once.
func namesInto(names *[]string, what string) func(string) error {
	return func(value string) error {
		for name := range strings.SplitSeq(value, ",") {
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				return fmt.Errorf("%s %q: %s", what, name, strings.Join(problems, "; "))
			}
			if !slices.Contains(*names, name) {
				*names = append(*names, name)
			}
		}
		return nil
	}
}

// addPullSecrets reads Secrets, each with the registry that it is for, if any.
func (o *options) addPullSecrets(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		secret := objects.PullSecret{Name: one}
		if registry, name, found := strings.Cut(one, "="); found {
			if secret = (objects.PullSecret{Registry: registry, Name: name}); registry == "" {
				return fmt.Errorf("%q has no registry before the =: give one, or leave the = out for all images", one)
			}
		}
		if problems := validation.IsDNS1123Subdomain(secret.Name); len(problems) > 0 {
			return fmt.Errorf("Secret %q: %s", secret.Name, strings.Join(problems, "; ")) //nolint:staticcheck // Secret is a kind
		}
		o.pullSecrets = append(o.pullSecrets, secret)
	}
	return nil
}

// addClientLabels reads labels. Those of ours are not anybody's to set.
func (o *options) addClientLabels(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		key, text, found := strings.Cut(one, "=")
		switch problems := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(text)); {
		case !found:
			return fmt.Errorf("%q is no KEY=VALUE", one)
		case len(problems) > 0:
			return fmt.Errorf("label %q: %s", one, strings.Join(problems, "; "))
		case strings.HasPrefix(key, v1alpha1.Group+"/"):
			return fmt.Errorf("label %q: those of %s are the operator's own", one, v1alpha1.Group)
		}
		if o.clientLabels == nil {
			o.clientLabels = map[string]string{}
		}
		o.clientLabels[key] = text
	}
	return nil
}

// imageTag makes a tag of a version: a tag has no +, which a version of a changed tree has.
func imageTag(version string) string { return strings.ReplaceAll(version, "+", "-") }

// metricsServer says how the metrics are served.
func (o *options) metricsServer() metricsserver.Options {
	served := metricsserver.Options{BindAddress: o.metrics}
	if o.metricsSecure {
		served.SecureServing = true
		served.CertDir = o.metricsCertificate
		served.FilterProvider = filters.WithAuthenticationAndAuthorization
		// One request a scrape has nothing to gain from HTTP/2, whose streams have been a way to exhaust servers.
		served.TLSOpts = []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }}
	}
	return served
}

// logTo sends the log of everything in this process, one JSON object a line.
func (o *options) logTo(log io.Writer) {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: o.logLevel}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}
