package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agent"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/process"
)

// nodes is the number of nodes that kwok simulates.
const nodes = 20

// late is the maximum delay with which an agent still obeys an order to start. It is long because a machine with busy
// cores would otherwise repeat steps, and this package does not measure start skew.
const late = time.Hour

// retry is the interval between attempts to read or use something that does not exist yet.
const retry = 200 * time.Millisecond

// fleet runs the agents of all pods.
type fleet struct {
	api client.Client
	// folder is the directory that all volumes use.
	folder string
	// hostile reports whether a benchmark has hostile agents.
	hostile func(benchmark string) bool
	// failed is called with unexpected errors.
	failed func(error)

	agents atomic.Int64
	all    sync.WaitGroup
	bound  atomic.Int64

	mu   sync.Mutex
	pods map[types.UID]*member
	runs map[string]*ledger // by the run's UID
}

// member is a pod of the fleet.
type member struct {
	// deleted is cancelled when the pod is deleted.
	deleted context.Context
	remove  context.CancelFunc
	// asked is true once the pod is being bound to a node, and started once its agent has been started.
	asked, started bool
}

// watch handles the pods in a cache.
func (f *fleet) watch(ctx context.Context, shown cache.Cache) error {
	informer, err := shown.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { f.see(ctx, object) },
		UpdateFunc: func(_, object any) { f.see(ctx, object) },
		DeleteFunc: func(object any) { f.gone(ctx, object) },
	})
	return err
}

func (f *fleet) see(ctx context.Context, object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Labels[v1alpha1.LabelRun] == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.pods[pod.UID]
	if m == nil {
		m = &member{}
		m.deleted, m.remove = context.WithCancel(ctx)
		f.pods[pod.UID] = m
	}
	switch {
	case !pod.DeletionTimestamp.IsZero():
		m.remove()
	case pod.Spec.NodeName == "" && !m.asked:
		m.asked = true
		f.all.Go(func() { f.bind(ctx, pod) })
	case pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" && !m.started:
		m.started = true
		f.all.Go(func() {
			if err := f.live(m.deleted, pod.DeepCopy()); err != nil && m.deleted.Err() == nil {
				f.failed(fmt.Errorf("pod %s: %w", pod.Name, err))
			}
		})
	}
}

// gone handles the deletion of a pod: it ends the agent, and deletes the pod's Secret, as the garbage collector does in
// a real cluster.
func (f *fleet) gone(ctx context.Context, object any) {
	if tombstone, is := object.(toolscache.DeletedFinalStateUnknown); is {
		object = tombstone.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Labels[v1alpha1.LabelRun] == "" {
		return
	}
	f.mu.Lock()
	if m := f.pods[pod.UID]; m != nil {
		m.remove()
	}
	delete(f.pods, pod.UID)
	f.mu.Unlock()
	f.all.Go(func() {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		if err := f.api.Delete(ctx, secret); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
			f.failed(fmt.Errorf("delete the Secret of pod %s: %w", pod.Name, err))
		}
	})
}

// bind binds a pod to a node, as the scheduler would.
func (f *fleet) bind(ctx context.Context, pod *corev1.Pod) {
	node := fmt.Sprintf("node-%d", f.bound.Add(1)%nodes)
	to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := f.api.SubResource("binding").Create(ctx, pod, to); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		f.failed(fmt.Errorf("bind pod %s: %w", pod.Name, err))
	}
}

// live runs the agent of a running pod until the agent has finished or the pod is deleted.
func (f *fleet) live(ctx context.Context, pod *corev1.Pod) error {
	config, err := f.configuration(ctx, pod)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, config.Listen)
	if err != nil {
		return err
	}
	model := &fio{ledger: f.ledger(pod.Namespace, &config), client: config.Client, left: ctx, flood: f.hostile(config.Benchmark)}
	served := agent.NewSimulated(config, agent.SystemClock{}, model, nothing{}, nil)
	served.TakeLateOrders(late)
	server, err := served.NewServer()
	if err != nil {
		return err
	}
	f.agents.Add(1)
	defer f.agents.Add(-1)
	serving := make(chan error, 1)
	go func() { serving <- server.Serve(listener) }()
	select {
	case <-served.Finished():
	case <-ctx.Done():
		served.Abandon("its pod was deleted")
	case err := <-serving:
		return err
	}
	// As in agent.Serve: the answer to Finish is on its way.
	stopped := time.AfterFunc(time.Second, server.Stop)
	server.GracefulStop()
	stopped.Stop()
	if ctx.Err() != nil {
		return nil
	}
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	return client.IgnoreNotFound(f.api.Status().Patch(ctx, pod, client.MergeFrom(before)))
}

// configuration waits for the Secret of a pod and returns the agent's configuration in it, adapted to this machine.
func (f *fleet) configuration(ctx context.Context, pod *corev1.Pod) (agent.Config, error) {
	var secret corev1.Secret
	for {
		err := f.api.Get(ctx, client.ObjectKeyFromObject(pod), &secret)
		if err == nil {
			break
		}
		if !apierrors.IsNotFound(err) {
			return agent.Config{}, err
		}
		if err := pause(ctx); err != nil {
			return agent.Config{}, err
		}
	}
	config, err := agent.ReadConfig(bytes.NewReader(secret.Data[objects.ConfigKey]))
	if err != nil {
		return agent.Config{}, err
	}
	config.Listen = net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(objects.AgentPort))
	for i := range config.Volumes {
		config.Volumes[i].Path, config.Volumes[i].Expect = f.folder, dataset.Expectation{}
	}
	return config, nil
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(retry):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// listen listens on an address. It waits until the previous agent with that address has released it.
func listen(ctx context.Context, address string) (net.Listener, error) {
	for {
		listener, err := net.Listen("tcp", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// ledger returns the ledger of an agent's run, and creates it if necessary.
func (f *fleet) ledger(namespace string, config *agent.Config) *ledger {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := f.runs[config.RunUID]
	if found == nil {
		found = newLedger(namespace, config.Benchmark, config.RunName)
		f.runs[config.RunUID] = found
	}
	return found
}

// ledgers returns the ledgers of all runs.
func (f *fleet) ledgers() (all []*ledger) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.runs {
		all = append(all, one)
	}
	return all
}

// nothing is an agent.System that runs no programs.
type nothing struct{}

var _ agent.System = nothing{}

var errNothing = errors.New("this machine runs no program")

func (nothing) Find(name, _ string) (string, error) {
	return "", fmt.Errorf("%s: %w", name, errNothing)
}

func (nothing) ReadIO(int) (process.IO, error) { return process.IO{}, errNothing }

func (nothing) Descendants(int) ([]process.Process, error) { return nil, nil }

func (nothing) Start(*exec.Cmd) (tool.Program, error) { return nil, errNothing }

func (nothing) HasOpenBelow(int, string) bool { return false }

func (nothing) Supervise(*exec.Cmd, []*os.File) (tool.Program, io.WriteCloser, io.ReadCloser, error) {
	return nil, nil, nil, errNothing
}

func (nothing) DeviceIO(uint64) (process.DeviceIO, error) { return process.DeviceIO{}, errNothing }

func (nothing) Sync(string) error { return nil }
