package scale

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/storagebench/storagebench/test/hang"
	"github.com/storagebench/storagebench/test/output"
)

// program is a process that a test has started.
type program struct {
	*exec.Cmd

	log   output.Buffer
	ended chan struct{}
}

// run starts a program, which is killed when the test ends.
func run(t *testing.T, path string, environment []string, arguments ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.Command(path, arguments...), ended: make(chan struct{})}
	p.Env = append(os.Environ(), environment...)
	p.Stdout, p.Stderr = &p.log, &p.log
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, p.Start())
	go func() {
		_ = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			text := p.log.String()
			t.Logf("the last of %s:\n%s", filepath.Base(path), text[max(0, len(text)-2000):])
		}
	})
	return p
}

func (p *program) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// operator is the operator as a process.
type operator struct {
	*program

	// metrics and profiles are the addresses of the metrics and pprof endpoints.
	metrics, profiles string
}

// operate starts the world's operator and returns once it leads. An earlier operator must have ended.
func (w *world) operate(environment ...string) *operator {
	w.Helper()
	o := &operator{metrics: freeAddress(w.T), profiles: freeAddress(w.T)}
	o.program = run(w.T, operatorPath, environment, "--kubeconfig="+w.kubeconfig, "--namespace="+systemNamespace,
		"--agent-image=operator:test", "--fio-image=fio:test", "--ior-image=ior:test", "--profile-library=false",
		"--metrics-bind-address="+o.metrics, "--pprof-bind-address="+o.profiles, "--health-probe-bind-address=0",
		"--max-clients="+strconv.Itoa(maxClients), "--max-clients-per-namespace="+strconv.Itoa(w.perNamespace),
		// No client may count as lost, even if the machine stalls for minutes.
		"--loss-timeout=30m")
	hang.Until(w, "the operator leads", func() bool {
		select {
		case <-o.ended:
			w.Fatalf("the operator has ended: %s", o.log.String())
		default:
		}
		return o.leads()
	})
	w.operator.Store(o)
	return o
}

func (o *operator) leads() bool { return o.counts("storagebench_operator_leader") == 1 }

// counts returns the sum of a metric of the operator, or 0 if the operator does not answer.
func (o *operator) counts(metric string) float64 {
	points, err := get("http://" + o.metrics + "/metrics")
	if err != nil {
		return 0
	}
	return sum(points, metric, nil)
}

// usage holds the CPU time and memory of the operator's process.
type usage struct {
	CPU            time.Duration
	ResidentBytes  int64
	MostResident   int64
	HeapBytes      int64
	Goroutines     int64
	AllocatedBytes int64
}

func (o *operator) cpu(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.Process.Pid))
	must(t, err)
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const user, system, tick = 11, 12, 10 * time.Millisecond
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		must(t, err)
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// use returns the current usage of the process, after a garbage collection.
func (o *operator) use(t *testing.T) usage {
	t.Helper()
	made := usage{CPU: o.cpu(t)}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.Process.Pid))
	must(t, err)
	made.ResidentBytes, made.MostResident = number(string(status), "VmRSS:")<<10, number(string(status), "VmHWM:")<<10
	heap, err := body("http://" + o.profiles + "/debug/pprof/heap?gc=1&debug=1")
	must(t, err)
	made.HeapBytes, made.AllocatedBytes = number(heap, "# HeapAlloc ="), number(heap, "# TotalAlloc =")
	goroutines, err := body("http://" + o.profiles + "/debug/pprof/goroutine?debug=1")
	must(t, err)
	made.Goroutines = number(goroutines, "goroutine profile: total")
	return made
}

// number returns the number that follows a word, or 0 if there is none.
func number(text, word string) int64 {
	_, after, _ := strings.Cut(text, word)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n
}

// web is a client for servers on this machine. Its timeout is long, because a request for a CPU profile lasts as long
// as the profile.
var web = http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: hang.Guard}

func body(url string) (string, error) {
	answer, err := web.Get(url)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close() //nolint:errcheck // It was read.
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(text), err
}

// point is one value of a metric.
type point struct {
	name   string
	labels map[string]string
	value  float64
}

func get(url string) ([]point, error) {
	text, err := body(url)
	if err != nil {
		return nil, err
	}
	return parse(text), nil
}

// parse parses metrics in text format. It assumes that label values contain no quotes.
func parse(text string) (all []point) {
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		name, value := line, ""
		if at := strings.LastIndexByte(line, ' '); at > 0 && !strings.HasPrefix(line, "#") {
			name, value = line[:at], line[at+1:]
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		made := point{value: number, labels: map[string]string{}}
		var labels string
		made.name, labels, _ = strings.Cut(name, "{")
		for pair := range strings.SplitSeq(strings.TrimSuffix(labels, "}"), `",`) {
			key, quoted, _ := strings.Cut(pair, `="`)
			made.labels[key] = strings.TrimSuffix(quoted, `"`)
		}
		all = append(all, made)
	}
	return all
}

// sum returns the sum of a metric's values with the given labels.
func sum(all []point, name string, labels map[string]string) (total float64) {
	for _, one := range all {
		if one.name == name && one.has(labels) {
			total += one.value
		}
	}
	return total
}

func (p *point) has(labels map[string]string) bool {
	for key, value := range labels {
		if p.labels[key] != value {
			return false
		}
	}
	return true
}

// writeKubeconfig writes a kubeconfig for other programs.
func writeKubeconfig(config *rest.Config, file string) error {
	made := clientcmdapi.NewConfig()
	made.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	made.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	made.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	made.CurrentContext = "test"
	return clientcmd.WriteToFile(*made, file)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close() //nolint:errcheck // It has no connections.
	return listener.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
