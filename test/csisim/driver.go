package csisim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Options configure a driver.
type Options struct {
	// Name is the name that the driver registers: that of a real driver, or any other.
	Name string
	// Home is the directory that holds the directories of all drivers.
	Home string
	// Node is the name of the only node.
	Node string
	// DefaultScenario is for volumes that name none. With it, the driver also accepts handles that it did not create: such
	// a volume is created when it is first staged.
	DefaultScenario string
	// Program is the command that runs a store. The store's directory is appended to it. It must call StoreMain.
	Program []string
	// Instance distinguishes the loop devices of this simulation from those of others on the machine. The default is Home.
	Instance string
	Log      *slog.Logger
}

// Driver implements the three services of a CSI driver. It keeps no state in memory: a driver that starts later on the
// same Home continues where this one was killed.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	Options

	home  home
	shape shape
	// gate lets one operation in at a time.
	gate chan struct{}
	lock *os.File
	// step is called between actions of an operation. Tests kill the driver there.
	step func()
}

// Folder returns the directory of a driver.
func Folder(home, driver string) string { return filepath.Join(home, driver) }

// NewDriver locks a driver's directory against other processes and removes the stores that an earlier process left
// without a volume.
func NewDriver(ctx context.Context, o Options) (*Driver, error) {
	if o.Name == "" || filepath.Base(o.Name) != o.Name {
		return nil, fmt.Errorf("naming a driver: %q must be a name as fsx.csi.aws.com", o.Name)
	}
	if o.Instance == "" {
		o.Instance = o.Home
	}
	if _, err := configOf(nil, nil, o.DefaultScenario); err != nil {
		return nil, fmt.Errorf("driver %s: %w", o.Name, err)
	}
	d := &Driver{
		Options: o, home: home(Folder(o.Home, o.Name)), shape: shapeOf(o.Name),
		gate: make(chan struct{}, 1), step: func() {},
	}
	if err := os.MkdirAll(string(d.home), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of driver %s: %w", o.Name, err)
	}
	var err error
	if d.lock, err = lockFileAt(filepath.Join(string(d.home), lockFile)); err != nil {
		return nil, fmt.Errorf("driver %s runs already: %w", o.Name, err)
	}
	if err := d.sweep(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close unlocks the driver's directory for another process. Its stores continue.
func (d *Driver) Close() error { return d.lock.Close() }

// enter waits until earlier operations have ended.
func (d *Driver) enter(ctx context.Context) (leave func(), err error) {
	select {
	case d.gate <- struct{}{}:
		return func() { <-d.gate }, nil
	case <-ctx.Done():
		return nil, status.Error(codes.Aborted, "other operations are under way")
	}
}

func (d *Driver) storeOf(v volume) Store { return StoreAt(filepath.Join(d.home.stores(), v.Store)) }

// StoreOf returns the store of a volume in any home, by the volume's handle. For a deleted volume that had its own
// store, it returns the kept record.
func StoreOf(homeFolder, driver, handle string) (Store, error) {
	h := home(Folder(homeFolder, driver))
	v, err := h.load(handle)
	if err == nil {
		return StoreAt(filepath.Join(h.stores(), v.Store)), nil
	}
	kept := filepath.Join(h.records(), ownStore(handle))
	if _, statErr := os.Stat(kept); errors.Is(err, errNoVolume) && statErr == nil {
		return StoreAt(kept), nil
	}
	return Store{}, err
}

// ownStore returns the name of a store that serves only this volume.
func ownStore(handle string) string { return "of-" + key(handle) }

// sweep ends stores without volumes.
func (d *Driver) sweep(ctx context.Context) error {
	all, err := d.home.all()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, v := range all {
		used[v.Store] = true
	}
	entries, err := os.ReadDir(d.home.stores())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing the stores: %w", err)
	}
	for _, entry := range entries {
		if used[entry.Name()] {
			continue
		}
		if err := d.endStore(ctx, entry.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) endStore(ctx context.Context, name string) error {
	err := StoreAt(filepath.Join(d.home.stores(), name)).end(ctx, filepath.Join(d.home.records(), name))
	if err != nil {
		return fmt.Errorf("ending store %s: %w", name, err)
	}
	return nil
}

// Clear unmounts and removes all volumes of a driver with their contents, even if they are in use. It ends a
// simulation.
func (d *Driver) Clear(ctx context.Context) error {
	leave, err := d.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	all, err := d.home.all()
	if err != nil {
		return err
	}
	var failed []error
	for _, v := range all {
		if err := d.clear(ctx, v); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, d.sweep(ctx))...)
}

func (d *Driver) clear(ctx context.Context, v volume) error {
	device, err := deviceOf(d.Instance, v)
	if err != nil {
		return err
	}
	bound, err := v.bound(device)
	if err != nil {
		return err
	}
	for _, m := range bound {
		if err := v.unbind(m.Mountpoint); err != nil {
			return err
		}
	}
	if device != "" {
		if err := detach(device); err != nil {
			return err
		}
	}
	return d.unmake(ctx, v)
}
