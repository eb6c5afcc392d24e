package csisim

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// Run serves drivers until the context ends or one of them fails. Without a plugins directory it registers them with no
// kubelet; without a client it provisions nothing.
func Run(ctx context.Context, drivers []*Driver, plugins string, client kubernetes.Interface) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	provisioning := make([]*controller.ProvisionController, len(drivers))
	for i, d := range drivers {
		if client == nil {
			break
		}
		var err error
		if provisioning[i], err = d.provisioning(ctx, client); err != nil {
			return fmt.Errorf("driver %s: %w", d.Name, err)
		}
	}
	var wait sync.WaitGroup
	var guard sync.Mutex
	var failed []error
	start := func(name string, part func() error) {
		wait.Go(func() {
			defer cancel()
			if err := part(); err != nil {
				guard.Lock()
				defer guard.Unlock()
				failed = append(failed, fmt.Errorf("driver %s: %w", name, err))
			}
		})
	}
	for i, d := range drivers {
		serving := make(chan struct{})
		start(d.Name, func() error { return d.Serve(ctx, func() { close(serving) }) })
		after := func(part func() error) func() error {
			return func() error {
				select {
				case <-serving:
					return part()
				case <-ctx.Done():
					return nil
				}
			}
		}
		if client != nil {
			start(d.Name, after(func() error {
				provisioning[i].Run(ctx)
				return nil
			}))
			start(d.Name, after(func() error { return d.Resize(ctx, client) }))
		}
		if plugins != "" {
			start(d.Name, after(func() error { return d.Register(ctx, plugins) }))
		}
	}
	wait.Wait()
	return errors.Join(failed...)
}
