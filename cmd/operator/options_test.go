package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/version"
)

func TestOptions(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.priorityClass != "storagebench-operator" {
		t.Errorf("priority class %q, want that of config/manager", o.priorityClass)
	}
	if o.namespace != "here" {
		t.Errorf("namespace %q, want that of the pod", o.namespace)
	}
	// The tags of the default images must be impossible to publish.
	tag := ".invalid/%s:" + version.Tag(version.Version)
	for name, image := range map[string]string{"operator": o.agentImage, "fio": o.fioImage, "ior": o.iorImage} {
		if !strings.HasSuffix(image, fmt.Sprintf(tag, name)) {
			t.Errorf("image %q, want one of "+tag, image, name)
		}
	}
	if local := o.unpublished(); len(local) != 6 {
		t.Errorf("images that are in no registry: %v", local)
	}
	t.Setenv("FIO_IMAGE", "registry.example/fio:1")
	if o, err = parse([]string{"--agent-image=registry.example/operator:1"}, io.Discard); err != nil || o.fioImage != "registry.example/fio:1" ||
		o.agentImage != "registry.example/operator:1" || len(o.unpublished()) != 2 {
		t.Errorf("images %q and %q, not published: %v, %v", o.agentImage, o.fioImage, o.unpublished(), err)
	}
	if !strings.HasPrefix(o.metrics, "127.0.0.1:") {
		t.Errorf("by default, metrics are served at %s, want the loopback address", o.metrics)
	}
	o, err = parse([]string{"--namespace=there", "--agent-image=a", "--fio-image=b", "--metrics-bind-address=0", "--log-level=debug"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o, err = parse([]string{"--namespace=there", "--agent-image=a", "--fio-image=b", "--metrics-bind-address=0", "--log-level=debug",
		"--shared-queues=fsx-1,fsx-2"}, io.Discard); err != nil || !slices.Equal(o.sharedQueues, []string{"fsx-1", "fsx-2"}) {
		t.Errorf("shared queues are %q, %v", o.sharedQueues, err)
	}
	if o, err = parse([]string{"--namespace=there", "--agent-image=a", "--fio-image=b", "--metrics-bind-address=0", "--log-level=debug",
		"--namespaces=a,b", "--namespaces=b,c"}, io.Discard); err != nil || !slices.Equal(o.namespaces, []string{"a", "b", "c"}) {
		t.Errorf("namespaces are %q, %v", o.namespaces, err)
	}
	if o.namespace != "there" || o.agentImage != "a" || o.fioImage != "b" || o.metrics != "0" || o.logLevel != slog.LevelDebug {
		t.Errorf("flags are ignored: %+v", o)
	}
}

func TestOptionsOfClients(t *testing.T) {
	o, err := parse([]string{"--namespace=a", "--client-pull-secrets=all,registry.example/mirror=mirror", "--client-labels=team=a,example.com/cost=",
		"--loss-timeout=2m", "--parallel-runs=3", "--max-clients=70", "--max-clients-per-namespace=7", "--priority-class=own"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := []objects.PullSecret{{Name: "all"}, {Registry: "registry.example/mirror", Name: "mirror"}}; !slices.Equal(o.pullSecrets, want) {
		t.Errorf("pull secrets %+v, want %+v", o.pullSecrets, want)
	}
	if want := map[string]string{"team": "a", "example.com/cost": ""}; !maps.Equal(o.clientLabels, want) {
		t.Errorf("labels %v, want %v", o.clientLabels, want)
	}
	if o.priorityClass != "own" {
		t.Errorf("priority class %q", o.priorityClass)
	}
	if o.lossTimeout != 2*time.Minute || o.parallelRuns != 3 || o.maxClients != 70 || o.maxClientsPerNamespace != 7 {
		t.Errorf("loss timeout %s, %d runs at a time, %d clients, %d in a namespace", o.lossTimeout, o.parallelRuns, o.maxClients, o.maxClientsPerNamespace)
	}
}

func TestOptionsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"no namespace":   {nil, "--namespace is empty: set it, or set POD_NAMESPACE"},
		"no agent image": {[]string{"--namespace=a", "--agent-image="}, "--agent-image is empty"},
		"no fio image":   {[]string{"--namespace=a", "--fio-image="}, "--fio-image is empty"},
		"no ior image":   {[]string{"--namespace=a", "--ior-image="}, "--ior-image is empty"},
		"argument":       {[]string{"--namespace=a", "serve"}, `unexpected argument "serve"`},
		"unknown":        {[]string{"--leader-elect"}, "leader-elect"},
		"certificate":    {[]string{"--namespace=a", "--metrics-certificate-dir=/tls"}, "without --metrics-secure"},
		"shared queues":  {[]string{"--namespace=a", "--shared-queues=fsx-1,,b"}, `queue ""`},
		"namespaces":     {[]string{"--namespace=a", "--namespaces=Team"}, `namespace "Team"`},
		"pull secret":    {[]string{"--namespace=a", "--client-pull-secrets=r.example=Up"}, `Secret "Up"`},
		"no registry":    {[]string{"--namespace=a", "--client-pull-secrets==up"}, "no registry before the ="},
		"label":          {[]string{"--namespace=a", "--client-labels=team"}, `"team" is not KEY=VALUE`},
		"label value":    {[]string{"--namespace=a", "--client-labels=team=a b"}, `label "team=a b"`},
		"label of ours":  {[]string{"--namespace=a", "--client-labels=storagebench.dev/run=x"}, "reserved for the operator"},
		"loss timeout":   {[]string{"--namespace=a", "--loss-timeout=1ms"}, "--loss-timeout is 1ms"},
		"parallel runs":  {[]string{"--namespace=a", "--parallel-runs=0"}, "--parallel-runs is 0"},
		"clients":        {[]string{"--namespace=a", "--max-clients=0"}, "--max-clients is 0: must be at least 1"},
		"clients here":   {[]string{"--namespace=a", "--max-clients-per-namespace=-1"}, "--max-clients-per-namespace is -1: must be at least 1"},
		"prometheus":     {[]string{"--namespace=a", "--prometheus-url=p:9090"}, "--prometheus-url: the URL of Prometheus is"},
		"its secret":     {[]string{"--namespace=a", "--prometheus-url=http://me:secret@p"}, "visible in process lists"},
		"its interval":   {[]string{"--namespace=a", "--prometheus-url=http://p", "--prometheus-interval=2h"}, "must be from 1s to 1h"},
		"its authority":  {[]string{"--namespace=a", "--prometheus-url=http://p", "--prometheus-ca-file=/nowhere"}, "/nowhere"},
		"level":          {[]string{"--log-level=loud"}, "loud"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "")
			if _, err := parse(test.arguments, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestVersionAndHelpNeedNoCluster(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	var out, log bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &out, &log); err != nil || out.String() != version.Version+"\n" {
		t.Errorf("--version prints %q, %v", out.String(), err)
	}
	if err := run(t.Context(), []string{"--help"}, &out, &log); err != nil || !strings.Contains(log.String(), "agent-image") {
		t.Errorf("--help prints %q, %v", log.String(), err)
	}
}
