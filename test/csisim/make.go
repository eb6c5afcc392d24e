package csisim

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// make creates the parts of a volume that are missing. It records the volume before it creates anything, and records
// that the volume is made once all parts exist.
func (d *Driver) make(v volume, s simulated) error {
	if v.Made {
		return d.whole(v)
	}
	if err := d.home.save(v); err != nil {
		return err
	}
	d.step()
	if err := d.storeOf(v).describe(s.config); err != nil {
		return fmt.Errorf("store %s: %w", v.Store, err)
	}
	d.step()
	if err := d.fill(v); err != nil {
		return err
	}
	d.step()
	v.Made = true
	if err := d.home.save(v); err != nil {
		return err
	}
	d.step()
	return nil
}

// fill creates the memory behind a volume, and its disk, or grows them to their size.
func (d *Driver) fill(v volume) error {
	backing := d.home.backing(v)
	if err := mountBacking(backing, v.full(), v.Inodes); err != nil {
		return err
	}
	d.step()
	if !v.Block {
		return nil
	}
	return makeDisk(filepath.Join(backing, diskFile), v.full())
}

// whole returns an error for a volume whose contents are gone.
func (d *Driver) whole(v volume) error {
	there, err := at(d.home.backing(v))
	if err != nil {
		return err
	}
	if v.Made && len(there) == 0 {
		return fmt.Errorf("the contents of volume %q were in memory and are gone with it; delete the volume", v.ID)
	}
	return nil
}

// unmake removes a volume that nothing has mounted. It removes the record last.
func (d *Driver) unmake(ctx context.Context, v volume) error {
	more, err := d.home.others(v)
	if err != nil {
		return err
	}
	if !more { // end the store first: it may have files open in the memory
		if err := d.unmount(ctx, v); err != nil {
			return err
		}
		d.step()
		if err := d.endStore(ctx, v.Store); err != nil {
			return err
		}
	} else if err := d.unmount(ctx, v); err != nil {
		return err
	}
	d.step()
	return remove(d.home.recordOf(v.ID))
}

// unmount removes the memory behind a volume.
func (d *Driver) unmount(_ context.Context, v volume) error {
	backing := d.home.backing(v)
	if err := unmountAll(backing); err != nil {
		return err
	}
	d.step()
	return remove(backing)
}

// usage returns how full a volume is.
func usage(path string) (unix.Statfs_t, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return stat, fmt.Errorf("looking how full %s is: %w", path, err)
	}
	return stat, nil
}
