package browser_test

import (
	"bytes"
	"context"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/builders"
)

// pictureWidth is the width of README.md's picture in pixels, about the width of a page on GitHub.
const pictureWidth, largestPicture = 900, 150_000

// TestPicture renders a report from the top to the chart of its drain, without the other charts, for README.md. `make
// pictures` writes it to docs/pictures/report.png. The committed picture is not compared, because fonts differ between
// machines.
func TestPicture(t *testing.T) {
	p := open(t, htmlOf(t, fileServer(t)), pictureWidth, "screen")
	height := ask[float64](t, p, `(() => {
  const title = e => e.querySelector("h3").innerText;
  const drain = [...document.querySelectorAll("figure")].find(e => title(e).startsWith("Burst drain"));
  if (!drain) return 0;
  for (const e of document.querySelectorAll("nav, details")) e.remove();
  for (const e of document.querySelectorAll("section")) if (e.querySelector("figure") && !e.contains(drain)) e.remove();
  return Math.ceil(drain.getBoundingClientRect().bottom) + 12;
})()`)
	if height == 0 {
		t.Fatal("the report has no chart of the drain")
	}
	picture := get(t, p, clip(pictureWidth, height))
	if *screenshots != "" {
		if err := os.WriteFile(filepath.Join(*screenshots, "report.png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || config.Width != pictureWidth || config.Height < 300 || config.Height > 1200 {
		t.Errorf("the picture is %d x %d: %v", config.Width, config.Height, err)
	}
	if len(picture) > largestPicture {
		t.Errorf("the picture has %d bytes, more than %d", len(picture), largestPicture)
	}
}

// clip returns an action that captures the top of a page.
func clip(width, height float64) chromedp.Action[[]byte] {
	return func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		beyond := true
		made, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: width, Height: height, Scale: 1}})
		return made.Data, err
	}
}

// fileServer returns a run that drains the file server of README.md's introduction: 260 MB/s until the credits are
// spent and 32 MB/s afterwards, with noise.
func fileServer(t *testing.T) report.Document {
	t.Helper()
	const (
		block, megabyte = 1 << 20, 1_000_000
		credits         = 468_000 * megabyte
		burst, baseline = 260 * megabyte, 32 * megabyte // bytes per second
		burstSeconds    = credits / (burst - baseline)
		baselineSeconds = 1500
		full, throttled = 129 * time.Millisecond, 1048 * time.Millisecond // latency of a write at a queue depth of 32
	)
	depth := int32(32)
	load := builders.Fio().BlockSize("1Mi").ReadPercent(0).Mutate(func(p *v1alpha1.FioProfile) {
		p.Pattern, p.QueueDepth, p.DatasetSize = v1alpha1.FioSequential, &depth, resource.MustParse("128Gi")
	})
	benchmark := builders.Benchmark("file-server").Target("share").Throughput("32M", "260M", "468G", "5300k").
		Workload(load).Prepare("layout").BurstDrain("drain", "2m", "6h")
	random := rand.New(rand.NewPCG(5, 6))
	return carryOut(t, benchmark, func(step plan.Step, target string, index int) *builders.ClientBuilder {
		c := builders.Client(target, index)
		write := func(seconds int, rate float64, latency time.Duration) {
			for range seconds {
				operations := uint64(rate * (1 + 0.03*random.NormFloat64()) / block)
				c.Sample(time.Second, measure.Write, builders.Counter(operations, block), latency)
			}
		}
		if step.Phase == "layout" {
			return c.Does(600, measure.Write, builders.Counter(burst/block, block), full)
		}
		write(burstSeconds, burst, full)
		write(baselineSeconds, baseline, throttled)
		return c
	})
}
