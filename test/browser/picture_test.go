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

// pictureWidth is the width of README.md's picture, about as wide as GitHub shows a page.
const pictureWidth, largestPicture = 900, 150_000

// TestPicture renders the top of a report and the chart of its drain, as README.md shows them. `make pictures` writes
// docs/pictures/report.png. Pictures of two machines differ in their fonts, so the committed one is not compared.
func TestPicture(t *testing.T) {
	p := open(t, htmlOf(t, fileServer(t)), pictureWidth, "screen")
	shown := ask[bool](t, p, `(() => {
  for (const e of document.querySelectorAll("nav, main > section:not(#summary):not(#bursts), #bursts > :not(h2):not(figure), details")) e.remove();
  return document.querySelectorAll("#bursts figure svg.wide").length === 1 && document.querySelectorAll("#summary table, #summary dl").length > 0;
})()`)
	if !shown {
		t.Fatal("the report has no summary, or no chart of the drain")
	}
	height := ask[float64](t, p, `document.querySelector("#bursts").getBoundingClientRect().bottom + 12`)
	picture := get(t, p, clip(pictureWidth, height))
	config, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || config.Width != pictureWidth || config.Height < 300 || config.Height > 1200 {
		t.Errorf("the picture is %d x %d: %v", config.Width, config.Height, err)
	}
	if len(picture) > largestPicture {
		t.Errorf("the picture has %d bytes, more than %d", len(picture), largestPicture)
	}
	if *screenshots != "" {
		if err := os.WriteFile(filepath.Join(*screenshots, "report.png"), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// clip captures the top of a page.
func clip(width, height float64) chromedp.Action[[]byte] {
	return func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		beyond := true
		made, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: width, Height: height, Scale: 1}})
		return made.Data, err
	}
}

// fileServer is a drain of the file server that README.md begins with: 287 MB/s until the credits are gone, and 32 MB/s
// after that, with noise.
func fileServer(t *testing.T) report.Document {
	t.Helper()
	const block, burstSeconds, baselineSeconds = 1 << 20, 1800, 900
	load := builders.Fio().BlockSize("1Mi").ReadPercent(0).Mutate(func(p *v1alpha1.FioProfile) {
		depth := int32(32)
		p.Pattern, p.QueueDepth, p.DatasetSize = v1alpha1.FioSequential, &depth, resource.MustParse("8Gi")
	})
	benchmark := builders.Benchmark("file-server").Target("share").Throughput("32M", "260M", "468G", "5300k").Workload(load).
		Prepare("layout").BurstDrain("burst", "2m", "6h").Steady("baseline", "15m")
	random := rand.New(rand.NewPCG(5, 6))
	seconds := func(c *builders.ClientBuilder, count int, bytesPerSecond float64, latency time.Duration) *builders.ClientBuilder {
		for range count {
			operations := uint64(bytesPerSecond * (1 + 0.03*random.NormFloat64()) / block)
			c.Sample(time.Second, measure.Write, builders.Counter(operations, block), latency)
		}
		return c
	}
	return carryOut(t, benchmark, func(step plan.Step, target string, index int) *builders.ClientBuilder {
		c := builders.Client(target, index)
		switch step.Phase {
		case "layout":
			return c.Does(30, measure.Write, builders.Counter(273, block), 117*time.Millisecond)
		case "burst":
			return seconds(seconds(c, burstSeconds, 287e6, 117*time.Millisecond), baselineSeconds, 32e6, 1050*time.Millisecond)
		}
		return seconds(c, baselineSeconds, 32e6, 1050*time.Millisecond)
	})
}
