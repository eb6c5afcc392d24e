package main

import (
	"bytes"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/internal/version"
)

func TestOptions(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "here")
	o, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if o.namespace != "here" {
		t.Errorf("namespace %q, want that of the pod", o.namespace)
	}
	tag := imageTag(version.Version)
	if o.agentImage != "storagebench.dev/operator:"+tag || o.fioImage != "storagebench.dev/fio:"+tag || o.iorImage != "storagebench.dev/ior:"+tag {
		t.Errorf("images %q, %q and %q, want those of version %s", o.agentImage, o.fioImage, o.iorImage, tag)
	}
	if !strings.HasPrefix(o.metrics, "127.0.0.1:") {
		t.Errorf("by default the metrics are for anybody who can reach %s", o.metrics)
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

func TestOptionsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"no namespace":   {nil, "--namespace is empty: give it, or set POD_NAMESPACE"},
		"no agent image": {[]string{"--namespace=a", "--agent-image="}, "--agent-image is empty"},
		"no fio image":   {[]string{"--namespace=a", "--fio-image="}, "--fio-image is empty"},
		"no ior image":   {[]string{"--namespace=a", "--ior-image="}, "--ior-image is empty"},
		"argument":       {[]string{"--namespace=a", "serve"}, `unexpected argument "serve"`},
		"unknown":        {[]string{"--leader-elect"}, "leader-elect"},
		"certificate":    {[]string{"--namespace=a", "--metrics-certificate-dir=/tls"}, "without --metrics-secure"},
		"shared queues":  {[]string{"--namespace=a", "--shared-queues=fsx-1,,b"}, `queue ""`},
		"namespaces":     {[]string{"--namespace=a", "--namespaces=Team"}, `namespace "Team"`},
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

func TestImageTag(t *testing.T) {
	if got := imageTag("v0.1.0-20261121+dirty"); got != "v0.1.0-20261121-dirty" {
		t.Errorf("got %q", got)
	}
}
