package standinior

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/ior"
	"github.com/storagebench/storagebench/images/packaged"
)

// Image returns an image for client pods with Debian's Open MPI and fio, and the ior and mdtest that Given returns. Its
// name is storagebench-ior-standin, or storagebench-ior-of-tests if both programs are real. Neither image is released.
func Image(ctx context.Context, version string, progress io.Writer) (image.Image, error) {
	programs, err := Given(ctx)
	if err != nil {
		return image.Image{}, err
	}
	o := ior.Options{
		Name: "storagebench-ior-standin", Title: "Stand-ins of storagebench's tests for IOR and mdtest: not IOR, and not for measuring",
		Licenses: "Apache-2.0", Options: packaged.Options{Version: version, Progress: progress},
	}
	if Real() {
		o.Name, o.Title, o.Licenses = "storagebench-ior-of-tests", "IOR and mdtest as the tests of storagebench were given them", "GPL-2.0-only"
	}
	if o.IOR, err = os.ReadFile(programs.IOR); err != nil {
		return image.Image{}, fmt.Errorf("read ior: %w", err)
	}
	if o.Mdtest, err = os.ReadFile(programs.Mdtest); err != nil {
		return image.Image{}, fmt.Errorf("read mdtest: %w", err)
	}
	if o.Cache, err = image.CacheFolder(); err != nil {
		return image.Image{}, err
	}
	if o.Created, err = image.Time(); err != nil {
		return image.Image{}, err
	}
	return ior.Make(ctx, o)
}
