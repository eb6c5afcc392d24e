// Command csisim simulates CSI drivers for tests; see package test/csisim.
//
//	csisim --driver NAME[=SCENARIO] ... [--home DIR] [--node NAME] [--kubeconfig FILE] [--plugins DIR] [--instance NAME] [--with-stdin]
//	csisim --clear --driver NAME ... [--home DIR] [--instance NAME]
//	csisim store DIR
//
// It serves each driver on HOME/NAME/csi.sock until SIGTERM or SIGINT. With --plugins, it registers the drivers with
// the kubelet that watches the folder; with --kubeconfig, it provisions volumes. Stores outlive it, and it uses them
// again when it is restarted. With --clear, it unmounts and removes everything that the drivers keep, including the
// contents of volumes. The last form is the process of a store.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/storagebench/storagebench/test/csisim"
)

type options struct {
	drivers                                   []string
	home, node, kubeconfig, plugins, instance string
	clear, verbose, withStdin                 bool
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "store" {
		os.Exit(csisim.StoreMain(os.Args[2]))
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "csisim:", err)
		os.Exit(1)
	}
}

func parse() (options, error) {
	var o options
	flag.Func("driver", "name to register under, as one of "+strings.Join(csisim.RealDrivers(), ", ")+
		", with =SCENARIO for volumes that name none; may be given several times", func(value string) error {
		o.drivers = append(o.drivers, value)
		return nil
	})
	flag.StringVar(&o.home, "home", "/run/csisim", "folder of all that the drivers keep")
	flag.StringVar(&o.node, "node", "", "name of the node; empty: of the host")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server; empty: nothing is provisioned")
	flag.StringVar(&o.plugins, "plugins", "", "folder that the kubelet watches for plugins, as /var/lib/kubelet/plugins_registry; empty: it is not told")
	flag.StringVar(&o.instance, "instance", "", "tells the loop devices of this simulation from those of others on the machine; empty: the home")
	flag.BoolVar(&o.clear, "clear", false, "only remove all volumes of the drivers")
	flag.BoolVar(&o.withStdin, "with-stdin", false, "end when standard input ends, as when the process that holds it exits")
	flag.BoolVar(&o.verbose, "verbose", false, "log every call")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		return o, fmt.Errorf("there are no arguments, but here are %q", flag.Args())
	case len(o.drivers) == 0:
		return o, errors.New("give --driver at least once")
	}
	if o.node == "" {
		name, err := os.Hostname()
		if err != nil {
			return o, fmt.Errorf("finding the name of the node: %w", err)
		}
		o.node = name
	}
	return o, nil
}

func run() (err error) {
	o, err := parse()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	level := slog.LevelInfo
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	var drivers []*csisim.Driver
	defer func() {
		for _, d := range drivers {
			err = errors.Join(err, d.Close())
		}
	}()
	for _, text := range o.drivers {
		name, scenario, _ := strings.Cut(text, "=")
		d, err := csisim.NewDriver(ctx, csisim.Options{
			Name: name, Home: o.home, Node: o.node, DefaultScenario: scenario, Instance: o.instance, Log: log,
			Program: []string{"/proc/self/exe", "store"},
		})
		if err != nil {
			return err
		}
		drivers = append(drivers, d)
	}
	if o.clear {
		return clearAll(ctx, drivers)
	}
	var client kubernetes.Interface
	if o.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return fmt.Errorf("reading %s: %w", o.kubeconfig, err)
		}
		config.QPS, config.Burst = 100, 200
		if client, err = kubernetes.NewForConfig(config); err != nil {
			return fmt.Errorf("making a client: %w", err)
		}
	}
	if o.withStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // an error ends it, too
			stop()
		}()
	}
	return csisim.Run(ctx, drivers, o.plugins, client)
}

func clearAll(ctx context.Context, drivers []*csisim.Driver) error {
	var failed []error
	for _, d := range drivers {
		failed = append(failed, d.Clear(ctx))
	}
	return errors.Join(failed...)
}
