package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// observe runs Prometheus on this machine until the demo ends, and configures the operator to use it.
func (d *demo) observe(ctx context.Context) error {
	if err := d.passed(ctx, "hack/ensure-packages", "prometheus"); err != nil {
		return err
	}
	exporter, err := d.exportCredits(ctx)
	if err != nil {
		return err
	}
	host, err := d.hostForPods(ctx)
	if err != nil {
		return err
	}
	address, err := d.startPrometheus(ctx, host, "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: store, static_configs: [{targets: ['"+exporter+"']}]}]\n")
	if err != nil {
		return err
	}
	// The manifest sets no args for the container, so the patch adds the whole list.
	patch := []map[string]any{{"op": "add", "path": "/spec/template/spec/containers/0/args", "value": []string{
		"--prometheus-url=http://" + address, "--prometheus-interval=1s",
	}}}
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("write a patch: %w", err)
	}
	if err := d.kubectlRun(ctx, "-n", operatorNamespace, "patch", "deployment", "storagebench-operator", "--type=json", "--patch="+string(text)); err != nil {
		return err
	}
	return d.available(ctx)
}

// exportCredits runs a metrics exporter for the store's credits until the demo ends, and returns the address that
// Prometheus scrapes.
func (d *demo) exportCredits(ctx context.Context) (string, error) {
	command := d.command(ctx, "bin/cluster", "burst", "export", "--name", claim)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("read the exporter's output: %w", err)
	}
	d.show("bin/cluster", command.Args[1:])
	if err := command.Start(); err != nil {
		return "", failure(err, "bin/cluster burst export", "")
	}
	d.atEnd = append(d.atEnd, func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", failure(err, "bin/cluster burst export", "")
	}
	return strings.TrimSpace(address), nil
}

// hostForPods returns the address at which pods can reach this machine.
func (d *demo) hostForPods(ctx context.Context) (string, error) {
	node, err := d.kubectlCommand(ctx, "get", "nodes", "-o", "jsonpath={.items[0].status.addresses[0].address}").Output()
	if err != nil {
		return "", failure(err, "kubectl get nodes", "")
	}
	// Dialing UDP sends nothing; it only makes the kernel choose a source address.
	connection, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(string(node), "9"))
	if err != nil {
		return "", fmt.Errorf("find the route to the node: %w", err)
	}
	defer func() { _ = connection.Close() }()
	host, _, err := net.SplitHostPort(connection.LocalAddr().String())
	if err != nil {
		return "", fmt.Errorf("find the route to the node: %w", err)
	}
	return host, nil
}

// startPrometheus starts a Prometheus server and returns its address once the server is ready. The server is stopped at
// the end of the demo.
func (d *demo) startPrometheus(ctx context.Context, host, configuration string) (string, error) {
	folder, err := os.MkdirTemp("", "storagebench-demo-")
	if err != nil {
		return "", fmt.Errorf("make a directory for Prometheus: %w", err)
	}
	file := filepath.Join(folder, "prometheus.yml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		return "", fmt.Errorf("configure Prometheus: %w", err)
	}
	// Use a free port, because a Prometheus that already uses the default port would be mistaken for the new one.
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", fmt.Errorf("find a free port for Prometheus: %w", err)
	}
	address := free.Addr().String()
	_ = free.Close()
	command := d.command(ctx, "prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(folder, "data"),
		"--web.listen-address="+address, "--log.level=warn")
	command.Stderr = os.Stderr
	d.show("prometheus", command.Args[1:])
	if err := command.Start(); err != nil {
		return "", failure(err, "prometheus", "")
	}
	d.atEnd = append(d.atEnd, func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = os.RemoveAll(folder)
	})
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Second / 5) {
		if ready(ctx, "http://"+address+"/-/ready") {
			return address, nil
		}
	}
	return "", errors.New("wait for Prometheus: not ready after a minute")
}

// direct is an HTTP client without a proxy, for servers that the demo starts on this machine.
var direct = &http.Client{Transport: &http.Transport{}}

func ready(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := direct.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
