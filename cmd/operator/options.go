package main

import (
	"cmp"
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
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/prometheus"
	"github.com/storagebench/storagebench/internal/version"
)

// options holds the parsed command line.
type options struct {
	agentImage string
	fioImage   string
	iorImage   string
	namespace  string
	metrics    string
	// metricsSecure is true if metrics are served over TLS, and only to clients that are authorized to read them.
	// metricsCertificate is the directory that contains tls.crt and tls.key.
	metricsSecure      bool
	metricsCertificate string
	limits             string
	health             string
	// pprof is the address at which Go's pprof profiles are served; 0 disables them.
	pprof string
	// namespaces lists the namespaces to watch; empty means all.
	namespaces []string
	// profileLibrary is true if the operator installs the library of ClusterWorkloadProfiles.
	profileLibrary bool
	// sharedQueues names the queues that all namespaces share; every other queue belongs to one namespace.
	sharedQueues []string
	// pullSecrets and clientLabels are added to the pods of all runs.
	pullSecrets  []objects.PullSecret
	clientLabels map[string]string
	// priorityClass is the operator's own priority class, or "" if it has none.
	priorityClass string
	lossTimeout   time.Duration
	parallelRuns  int
	// maxClients and maxClientsPerNamespace limit the number of clients in all live runs, in total and per namespace.
	maxClients, maxClientsPerNamespace int
	// prometheus configures the server that evaluates the observations of runs. If its URL is empty, observations are
	// not evaluated.
	prometheus  prometheus.Config
	logLevel    slog.Level
	showVersion bool
	// check is true if the program only checks an installation of the operator and then exits.
	check bool
}

// addImages adds the flags for the container images.
func (o *options) addImages(flags *flag.FlagSet) {
	flags.StringVar(&o.agentImage, "agent-image", defaultImage("AGENT_IMAGE", "operator"),
		"`image` with /storagebench-agent, which is copied into the client pods (default $AGENT_IMAGE, or this version's image, which is in no registry and must be loaded onto every node)")
	flags.StringVar(&o.fioImage, "fio-image", defaultImage("FIO_IMAGE", "fio"),
		"`image` of client pods for fio, unless a benchmark specifies one (default $FIO_IMAGE, or this version's image, which is in no registry and must be loaded onto every node)")
	flags.StringVar(&o.iorImage, "ior-image", defaultImage("IOR_IMAGE", "ior"),
		"`image` of client pods for runs with ior or mdtest, unless a benchmark specifies one; it must contain fio too "+
			"(default $IOR_IMAGE, or this version's image, which is in no registry and must be loaded onto every node)")
}

// addBounds adds the flags that limit how long an agent may be unreachable, how many runs are reconciled at the same
// time, and how many clients live runs may have.
func (o *options) addBounds(flags *flag.FlagSet) {
	flags.DurationVar(&o.lossTimeout, "loss-timeout", time.Minute,
		"`duration` after which a client counts as lost if its agent is unreachable but its pod appears to be running")
	flags.IntVar(&o.parallelRuns, "parallel-runs", 8, "maximum `number` of runs that are reconciled at the same time; further runs usually wait only milliseconds. "+
		"To limit the number of live runs, use --max-clients or queues")
	flags.IntVar(&o.maxClients, "max-clients", 2000, "maximum `number` of clients in all live runs; further runs wait. "+
		"Each client uses operator memory, so if you raise this maximum, also raise the operator's memory limit")
	flags.IntVar(&o.maxClientsPerNamespace, "max-clients-per-namespace", 1000, "maximum `number` of clients in all live runs of a namespace; further runs wait")
}

// addMetrics adds the flags for serving metrics.
func (o *options) addMetrics(flags *flag.FlagSet) {
	flags.StringVar(&o.metrics, "metrics-bind-address", "127.0.0.1:8080",
		"`address` at which to serve the metrics; 0 disables them. Without --metrics-secure, anyone who can reach the address "+
			"can read the metrics, so the default allows only kubectl port-forward")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", false,
		"serve the metrics over TLS, and only to users who may get /metrics (checked with the API server); config/metrics grants "+
			"the operator the permissions for these checks")
	flags.StringVar(&o.metricsCertificate, "metrics-certificate-dir", "",
		"`directory` with tls.crt and tls.key for --metrics-secure, reloaded when they change; by default the operator creates a "+
			"self-signed certificate at each start")
}

// addPrometheus adds the flags for the observations of runs.
func (o *options) addPrometheus(flags *flag.FlagSet) {
	flags.StringVar(&o.prometheus.URL, "prometheus-url", "", "`URL` of the Prometheus server that evaluates the observations of runs, without the trailing "+
		"/api/v1; if empty, observations are not evaluated. Anyone who may create a StorageBenchmark can read every series that the server returns: see docs/security.md")
	flags.StringVar(&o.prometheus.TokenFile, "prometheus-token-file", "", "`file` with a bearer token for the Prometheus server, read for each request")
	flags.StringVar(&o.prometheus.CAFile, "prometheus-ca-file", "", "`file` with the CA certificates for verifying the Prometheus server (default: the system's)")
	flags.StringVar(&o.prometheus.NamespaceParameter, "prometheus-namespace-parameter", "", "URL `parameter` that carries the namespace of the run, for a "+
		"proxy that enforces it, such as prom-label-proxy")
	flags.DurationVar(&o.prometheus.Interval, "prometheus-interval", prometheus.DefaultInterval, "scrape `interval` of the Prometheus server; a run waits up to five intervals for late data")
}

func parse(arguments []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("storagebench-operator", flag.ContinueOnError)
	flags.SetOutput(output)
	config.RegisterFlags(flags)
	o.addImages(flags)
	flags.StringVar(&o.namespace, "namespace", os.Getenv("POD_NAMESPACE"),
		"the operator's own `namespace`, which contains its Lease and its master key (default $POD_NAMESPACE)")
	o.addMetrics(flags)
	flags.StringVar(&o.limits, "limits-config-map", catalog.DefaultName,
		"`name` of a ConfigMap in the operator's namespace with documented limits that extend or replace those of this "+
			"version; optional. The operator's Role allows only the default name")
	flags.BoolVar(&o.profileLibrary, "profile-library", true, "create the ClusterWorkloadProfiles of this version's library at "+
		"startup. An operator with --namespaces never creates them, because they are cluster-scoped")
	flags.Func("namespaces", "comma-separated `names` of the namespaces to watch (default all); "+
		"config/namespaced and the chart's watch.namespaces grant the operator permissions only in these namespaces",
		namesInto(&o.namespaces, "namespace"))
	flags.Func("shared-queues", "comma-separated `names` of queues that are shared by all namespaces; other queues belong to their namespace",
		namesInto(&o.sharedQueues, "queue"))
	flags.Func("client-pull-secrets", "comma-separated `[REGISTRY=]NAME`s of image pull Secrets for the pods of runs, in addition to those that "+
		"a benchmark names; with a REGISTRY, such as registry.example/mirror, only for images from that registry. The Secrets must exist in "+
		"the benchmarks' namespaces", o.addPullSecrets)
	flags.Func("client-labels", "comma-separated `KEY=VALUE` labels for the pods of all runs, unless a benchmark sets another value", o.addClientLabels)
	flags.StringVar(&o.priorityClass, "priority-class", plan.OperatorPriorityClass,
		"`name` of the operator's own PriorityClass, which benchmark clients are not allowed to use; empty for none")
	o.addBounds(flags)
	o.addPrometheus(flags)
	flags.StringVar(&o.health, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 disables them")
	flags.StringVar(&o.pprof, "pprof-bind-address", "0", "`address` of the pprof endpoints (/debug/pprof), for profiling the operator; 0 disables them. "+
		"Anyone who can reach the address can read the profiles, so use an address such as 127.0.0.1:6060 with kubectl port-forward")
	flags.TextVar(&o.logLevel, "log-level", slog.LevelInfo, "log `level`: debug, info, warn or error")
	flags.BoolVar(&o.check, "check", false, "check that the operator installed in --namespace works, and exit (used by helm test)")
	flags.BoolVar(&o.showVersion, "version", false, "print the version and exit")
	if err := flags.Parse(arguments); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q: use flags, see --help", flags.Arg(0))
	}
	if o.showVersion {
		return o, nil
	}
	if o.prometheus.URL != "" {
		if _, err := prometheus.New(o.prometheus, ""); err != nil {
			return options{}, fmt.Errorf("--prometheus-url: %w", err)
		}
	}
	if o.metricsCertificate != "" && !o.metricsSecure {
		return options{}, fmt.Errorf("--metrics-certificate-dir is %q without --metrics-secure: set --metrics-secure, or remove --metrics-certificate-dir", o.metricsCertificate)
	}
	if o.lossTimeout < time.Second {
		return options{}, fmt.Errorf("--loss-timeout is %s: must be at least 1s, or short network failures would end runs", o.lossTimeout)
	}
	if o.parallelRuns < 1 || o.parallelRuns > 1000 {
		return options{}, fmt.Errorf("--parallel-runs is %d: must be from 1 to 1000", o.parallelRuns)
	}
	for _, limit := range []struct {
		flag  string
		value int
	}{{"--max-clients", o.maxClients}, {"--max-clients-per-namespace", o.maxClientsPerNamespace}} {
		if limit.value < 1 {
			return options{}, fmt.Errorf("%s is %d: must be at least 1, such as the number of pods that the cluster can run", limit.flag, limit.value)
		}
	}
	for _, needed := range []struct{ flag, value, remedy string }{
		{"--namespace", o.namespace, "set it, or set POD_NAMESPACE as config/default does"},
		{"--limits-config-map", o.limits, "remove the flag to use the default name; the ConfigMap does not have to exist"},
		{"--agent-image", o.agentImage, imageRemedy},
		{"--fio-image", o.fioImage, imageRemedy},
		{"--ior-image", o.iorImage, imageRemedy},
	} {
		if needed.value == "" {
			return options{}, fmt.Errorf("%s is empty: %s", needed.flag, needed.remedy)
		}
	}
	return o, nil
}

// namesInto returns a flag parser that splits a value at commas and appends the parts to names, without duplicates.
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

// addPullSecrets parses a list of image pull Secrets, each written as [REGISTRY=]NAME. If a Secret has a registry, it
// is used only for images from that registry.
func (o *options) addPullSecrets(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		secret := objects.PullSecret{Name: one}
		if registry, name, found := strings.Cut(one, "="); found {
			if secret = (objects.PullSecret{Registry: registry, Name: name}); registry == "" {
				return fmt.Errorf("%q has no registry before the =: add one, or remove the = to use the Secret for all images", one)
			}
		}
		if problems := validation.IsDNS1123Subdomain(secret.Name); len(problems) > 0 {
			return fmt.Errorf("Secret %q: %s", secret.Name, strings.Join(problems, "; ")) //nolint:staticcheck // Secret is a kind
		}
		o.pullSecrets = append(o.pullSecrets, secret)
	}
	return nil
}

// addClientLabels parses a list of KEY=VALUE labels. It rejects keys of the operator's own API group.
func (o *options) addClientLabels(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		key, text, found := strings.Cut(one, "=")
		switch problems := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(text)); {
		case !found:
			return fmt.Errorf("%q is not KEY=VALUE", one)
		case len(problems) > 0:
			return fmt.Errorf("label %q: %s", one, strings.Join(problems, "; "))
		case strings.HasPrefix(key, v1alpha1.Group+"/"):
			return fmt.Errorf("label %q: keys with the prefix %s/ are reserved for the operator", one, v1alpha1.Group)
		}
		if o.clientLabels == nil {
			o.clientLabels = map[string]string{}
		}
		o.clientLabels[key] = text
	}
	return nil
}

// imageRemedy is the advice for users whose image flag is empty or names an unpublished image.
const imageRemedy = "specify an image that you have pushed (`make push REGISTRY=...` prints it), or remove the flag to use the " +
	"default image, which must be loaded onto every node"

// defaultImage returns the image named by an environment variable. If the variable is empty, it returns the image of
// this version, which is not published in any registry.
func defaultImage(variable, name string) string {
	return cmp.Or(os.Getenv(variable), version.Image(name, version.Version))
}

// unpublished returns the image flags whose images are not published in any registry, as key-value pairs for the
// logger: each flag followed by its image.
func (o *options) unpublished() []any {
	var all []any
	for _, one := range []struct{ flag, image string }{
		{"--agent-image", o.agentImage}, {"--fio-image", o.fioImage}, {"--ior-image", o.iorImage},
	} {
		if strings.HasPrefix(one.image, version.Registry+"/") {
			all = append(all, one.flag, one.image)
		}
	}
	return all
}

// metricsServer returns the options of the metrics server.
func (o *options) metricsServer() metricsserver.Options {
	served := metricsserver.Options{BindAddress: o.metrics}
	if o.metricsSecure {
		served.SecureServing = true
		served.CertDir = o.metricsCertificate
		served.FilterProvider = filters.WithAuthenticationAndAuthorization
		// Disable HTTP/2. It has no advantage for one request per scrape, and attackers have used its streams to
		// exhaust the resources of servers.
		served.TLSOpts = []func(*tls.Config){func(config *tls.Config) { config.NextProtos = []string{"http/1.1"} }}
	}
	return served
}

// logTo makes all loggers of this process write to log, one JSON object per line.
func (o *options) logTo(log io.Writer) {
	logger := logr.FromSlogHandler(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: o.logLevel}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}
