package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Program returns the path of a program of Debian's package prometheus. If it is missing, the test is skipped, or fails
// if STORAGEBENCH_REQUIRE_PROMETHEUS or CI is set.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	message := name + " is missing: install it with hack/ensure-packages prometheus"
	if os.Getenv("CI") != "" || os.Getenv("STORAGEBENCH_REQUIRE_PROMETHEUS") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// Server is a Prometheus that runs for a test.
type Server struct {
	t       testing.TB
	address string
	client  http.Client
}

// Start runs a Prometheus with a configuration until the test ends. The files are written to the configuration's
// directory.
func Start(t testing.TB, configuration string, files map[string][]byte) *Server {
	t.Helper()
	return start(t, t.TempDir(), "127.0.0.1", configuration, files)
}

// Reachable is Start with an address of this machine that others can reach.
func Reachable(t testing.TB, host, configuration string) *Server {
	t.Helper()
	return start(t, t.TempDir(), host, configuration, nil)
}

// Holding runs a Prometheus that scrapes nothing and holds the given samples, in the OpenMetrics format with
// timestamps.
func Holding(t testing.TB, samples string) *Server {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "samples")
	must(t, os.WriteFile(file, []byte(samples+"# EOF\n"), 0o600))
	if out, err := exec.Command(Program(t, "promtool"), "tsdb", "create-blocks-from", "openmetrics", file, filepath.Join(folder, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return start(t, folder, "127.0.0.1", "global: {}\n", nil)
}

func start(t testing.TB, folder, host, configuration string, files map[string][]byte) *Server {
	t.Helper()
	program := Program(t, "prometheus")
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	file := filepath.Join(folder, "prometheus.yml")
	must(t, os.WriteFile(file, []byte(configuration), 0o600))
	s := &Server{t: t, address: freeAddress(t, host), client: http.Client{Transport: &http.Transport{Proxy: nil}, Timeout: 10 * time.Second}}
	log, err := os.Create(filepath.Join(folder, "log"))
	must(t, err)
	command := exec.Command(program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+s.address, "--log.level=info")
	command.Dir = folder
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// Pdeathsig is sent when the thread that started the process ends, so keep that thread.
		runtime.LockOSThread()
		started <- command.Start()
		_ = command.Wait() // it is killed
		close(ended)
	}()
	must(t, <-started)
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-ended
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("Prometheus:\n%s", text[max(0, len(text)-4000):])
		}
	})
	deadline := time.Now().Add(5 * time.Minute)
	for !s.ready() {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("Prometheus has ended: %s", text)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("Prometheus is not ready after five minutes")
		}
		time.Sleep(50 * time.Millisecond)
	}
	return s
}

// URL returns the address of the server.
func (s *Server) URL() string { return "http://" + s.address }

func (s *Server) ready() bool {
	answer, err := s.client.Get("http://" + s.address + "/-/ready")
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// Series is a series of an answer.
type Series struct {
	Labels map[string]string
	// Points are in order of time; an instant query returns one.
	Points []Point
}

// Point is a value at an instant.
type Point struct {
	Time  time.Time
	Value float64
}

// Last returns the value of the last point.
func (s *Series) Last() float64 { return s.Points[len(s.Points)-1].Value }

// Query returns the value of an expression at an instant.
func (s *Server) Query(expression string, at time.Time) ([]Series, error) {
	return s.ask("query", url.Values{"query": {expression}, "time": {stamp(at)}})
}

// Range returns the values of an expression, one per second.
func (s *Server) Range(expression string, from, to time.Time) ([]Series, error) {
	return s.ask("query_range", url.Values{"query": {expression}, "start": {stamp(from)}, "end": {stamp(to)}, "step": {"1"}})
}

// Get reads another endpoint of the API, such as rules, and decodes its data.
func (s *Server) Get(what string, into any) error {
	return s.get(what, nil, into)
}

func (s *Server) get(what string, values url.Values, into any) error {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+s.address+"/api/v1/"+what+"?"+values.Encode(), nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var told struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(text, &told); err != nil {
		return fmt.Errorf("%s: %w: %s", what, err, text)
	}
	if told.Status != "success" {
		return errors.New(told.Error)
	}
	return json.Unmarshal(told.Data, into)
}

func (s *Server) ask(what string, values url.Values) ([]Series, error) {
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  *pair
			Values []pair
		}
	}
	if err := s.get(what, values, &data); err != nil {
		return nil, fmt.Errorf("%s: %w", values.Get("query"), err)
	}
	var all []Series
	for _, one := range data.Result {
		found := Series{Labels: one.Metric}
		if one.Value != nil {
			one.Values = append(one.Values, *one.Value)
		}
		for _, value := range one.Values {
			if number := float64(value.value); !math.IsNaN(number) {
				found.Points = append(found.Points, Point{Time: value.time, Value: number})
			}
		}
		if len(found.Points) > 0 {
			all = append(all, found)
		}
	}
	return all, nil
}

// pair is a point as the API encodes it: [seconds, "value"].
type pair struct {
	time  time.Time
	value float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *pair) UnmarshalJSON(text []byte) error {
	parts := strings.SplitN(strings.Trim(string(text), "[]"), ",", 2)
	if len(parts) != 2 {
		return fmt.Errorf("%s is no point", text)
	}
	seconds, err := strconv.ParseFloat(parts[0], 64)
	if err != nil {
		return err
	}
	p.time = time.UnixMilli(int64(seconds * 1000))
	p.value, err = strconv.ParseFloat(strings.Trim(parts[1], `" `), 64)
	return err
}

func stamp(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }

func freeAddress(t testing.TB, host string) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	must(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
