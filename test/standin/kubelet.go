package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/objects"
)

// lookEvery is the interval at which the kubelet lists pods.
const lookEvery = 100 * time.Millisecond

// addresses counts the pods of this process. Each pod gets its own loopback address.
var addresses atomic.Uint32

// Kubelet runs pods as processes.
type Kubelet struct {
	// Client is a client of the API server.
	Client client.Client
	// Agent is the path of the agent's program.
	Agent string
	// Directory replaces every volume.
	Directory string
	// Environment is added to the environment of the processes.
	Environment []string

	// Hold, if true, keeps new pods from starting, as on a node without room.
	Hold atomic.Bool

	mu   sync.Mutex
	pods map[types.UID]*process
}

// process is a running pod.
type process struct {
	command *exec.Cmd
	stderr  bytes.Buffer
	ended   chan struct{}
	deleted bool
}

// Run runs pods until the context ends, and then kills their processes.
func (k *Kubelet) Run(ctx context.Context) {
	k.pods = map[types.UID]*process{}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		var list corev1.PodList
		if err := k.Client.List(ctx, &list, client.HasLabels{v1alpha1.LabelRun}); err == nil {
			for i := range list.Items {
				k.sync(ctx, &list.Items[i])
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	for _, running := range k.pods {
		_ = running.command.Process.Kill()
		<-running.ended
	}
}

// Kill kills the process of a pod at once, as the kernel does when a pod exceeds its memory limit.
func (k *Kubelet) Kill(pod types.UID) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	running := k.pods[pod]
	if running == nil {
		return errors.New("the pod does not run")
	}
	return running.command.Process.Kill()
}

// Processes describes the live processes of the pods, one per line, with the kernel function in which each waits. It
// finds them by their environment. It helps to debug tests that hang.
func (k *Kubelet) Processes() string {
	var told strings.Builder
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		environment, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !bytes.Contains(environment, []byte(k.Directory)) && !slices.ContainsFunc(k.Environment, func(one string) bool {
			return bytes.Contains(environment, []byte(one))
		}) {
			continue
		}
		command, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		state, _ := os.ReadFile(filepath.Join(folder, "stat"))
		waits, _ := os.ReadFile(filepath.Join(folder, "wchan"))
		_, state, _ = bytes.Cut(state, []byte(") "))
		state = state[:min(len(state), 12)] // the state and the parent's PID
		fmt.Fprintf(&told, "%s [%s] in %s: %.200s\n", filepath.Base(folder), state, waits, bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
	}
	return told.String()
}

func (k *Kubelet) sync(ctx context.Context, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	running := k.pods[pod.UID]
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case running == nil && !over && pod.DeletionTimestamp.IsZero():
		if !k.Hold.Load() {
			k.start(ctx, pod)
		}
	case running != nil && !over && isClosed(running.ended):
		k.report(ctx, pod, running)
	case running != nil && !over && !pod.DeletionTimestamp.IsZero() && !running.deleted:
		running.deleted = true
		_ = running.command.Process.Signal(syscall.SIGTERM)
	case !pod.DeletionTimestamp.IsZero() && (running == nil || isClosed(running.ended)):
		_ = k.Client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	}
}

func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// start starts the agent of a pod whose Secret exists.
func (k *Kubelet) start(ctx context.Context, pod *corev1.Pod) {
	var secret corev1.Secret
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(pod), &secret)
	if err != nil {
		return // The next sync tries again.
	}
	// Bind the pod to a node first: the API server deletes a pod without a node at once, and its agent would not be
	// terminated.
	if pod.Spec.NodeName == "" {
		node := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "standin"}}
		_ = k.Client.SubResource("binding").Create(ctx, pod, node)
		return // The next sync starts the pod, or binds it again.
	}
	number := addresses.Add(1)
	address := fmt.Sprintf("127.44.%d.%d", number>>8&255, number&255)
	path, err := k.configure(secret.Data[objects.ConfigKey], address)
	if err != nil {
		k.status(ctx, pod, corev1.PodFailed, "", err.Error())
		return
	}
	started := &process{command: exec.Command(k.Agent, "--config="+path), ended: make(chan struct{})} //nolint:noctx // It ends by signals, as in a pod.
	started.command.Stderr = &started.stderr
	started.command.Env = append(os.Environ(), k.Environment...)
	started.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := started.command.Start(); err != nil {
		k.status(ctx, pod, corev1.PodFailed, "", err.Error())
		return
	}
	client := "client-" + pod.Labels[v1alpha1.LabelClient]
	go func() {
		_ = started.command.Wait()
		k.killLeft(client)
		_ = os.RemoveAll(filepath.Dir(path))
		close(started.ended)
	}()
	k.pods[pod.UID] = started
	k.status(ctx, pod, corev1.PodRunning, address, "")
}

// killLeft kills the processes that a dead agent has left in its client's directory. In a container, the kernel kills
// them with process 1.
func (k *Kubelet) killLeft(client string) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return
	}
	for _, folder := range folders {
		where, err := os.Readlink(filepath.Join(folder, "cwd"))
		if err != nil || !strings.HasPrefix(where, k.Directory+"/") || filepath.Base(strings.TrimSuffix(where, " (deleted)")) != client {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// configure writes the agent's configuration, with this machine's address and directory in place of the pod's.
func (k *Kubelet) configure(data []byte, address string) (string, error) {
	config, err := agent.ReadConfig(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	config.Listen = fmt.Sprintf("%s:%d", address, objects.AgentPort)
	for i := range config.Volumes {
		config.Volumes[i].Path, config.Volumes[i].Expect = k.Directory, dataset.Expectation{}
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "storagebench-standin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "agent.json")
	return path, os.WriteFile(path, encoded, 0o600)
}

// report updates the status of a pod whose process has ended.
func (k *Kubelet) report(ctx context.Context, pod *corev1.Pod, ended *process) {
	state := ended.command.ProcessState
	phase, code := corev1.PodSucceeded, state.ExitCode()
	if signal := state.Sys().(syscall.WaitStatus); signal.Signaled() {
		code = 128 + int(signal.Signal())
	}
	if code != 0 {
		phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "client", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Message: ended.stderr.String()}}}}
	k.status(ctx, pod, phase, pod.Status.PodIP, "")
}

func (k *Kubelet) status(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, address, message string) {
	pod.Status.Phase, pod.Status.PodIP, pod.Status.Message = phase, address, message
	if address != "" {
		pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
	}
	if err := k.Client.Status().Update(ctx, pod); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "stand-in kubelet: ", err)
	}
}
