package browser_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/storagebench/storagebench/test/hang"
)

var screenshots = flag.String("screenshots", "", "a folder for pictures of the pages, to be looked at")

// tab is an open page.
type tab struct {
	ctx context.Context
	mu  sync.Mutex
	// requests are the URLs that the page requested. complaints are the errors, console messages and dialogs that the
	// browser reported.
	requests, complaints []string
}

// started is the Chromium process that all tests share; stop ends it.
var started struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop func()
}

// start returns the shared Chromium. The first call starts it.
func start(t *testing.T) context.Context {
	t.Helper()
	started.once.Do(func() { started.ctx, started.err = launch() })
	if started.err != nil {
		t.Fatal(started.err)
	}
	return started.ctx
}

func launch() (context.Context, error) {
	if _, err := exec.LookPath("chromium"); err != nil {
		return nil, fmt.Errorf("%w: run make browser-packages, or install Debian's chromium", err)
	}
	home, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Env("HOME="+home), chromedp.WSURLReadTimeout(90*time.Second))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, leave := chromedp.NewContext(ctx)
	started.stop = func() {
		leave()
		cancel()
		_ = os.RemoveAll(home)
	}
	if err := chromedp.Do(ctx); err != nil {
		return nil, fmt.Errorf("start Chromium: %w", err)
	}
	return ctx, nil
}

// open opens html in a new tab of the given width, with media features such as prefers-color-scheme=dark.
func open(t *testing.T, html string, width int64, media string, features ...*emulation.MediaFeature) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := chromedp.NewContext(start(t))
	t.Cleanup(cancel)
	opened := &tab{ctx: ctx}
	if err := chromedp.Listen(ctx, opened.hear); err != nil {
		t.Fatal(err)
	}
	opened.run(t, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		_, logErr := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		_, mediaErr := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: features})
		return errors.Join(err, logErr, mediaErr)
	}), chromedp.EmulateViewport(width, 900), chromedp.Navigate("file://"+file))
	return opened
}

func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		p.complaints = append(p.complaints, "exception: "+e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		p.complaints = append(p.complaints, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		p.complaints = append(p.complaints, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
	case *page.EventJavascriptDialogOpening:
		p.complaints = append(p.complaints, "dialog: "+e.Message)
	}
}

func (p *tab) run(t *testing.T, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// ask evaluates a JavaScript expression in the page.
func ask[T any](t *testing.T, p *tab, expression string) T {
	t.Helper()
	return get(t, p, chromedp.Evaluate[T](expression))
}

// get runs an action and returns its value.
func get[T any](t *testing.T, p *tab, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*time.Minute)
	defer cancel()
	answer, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// quiet fails the test if the page requested anything except itself, or if the browser reported a complaint.
func (p *tab) quiet(t *testing.T) {
	t.Helper()
	// The event about the page's own request may arrive after the navigation has completed.
	hang.Until(t, "the browser reports its request for the page", p.heardAny)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) != 1 || !strings.HasPrefix(p.requests[0], "file://") {
		t.Errorf("the page requested %q", p.requests)
	}
	if len(p.complaints) > 0 {
		t.Errorf("the browser reported %q", p.complaints)
	}
}

func (p *tab) heardAny() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests) > 0
}

// picture saves a screenshot of the page if -screenshots is set.
func (p *tab) picture(t *testing.T, name string) {
	t.Helper()
	if *screenshots == "" {
		return
	}
	image := get(t, p, chromedp.FullScreenshot(100))
	if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), image, 0o644); err != nil {
		t.Fatal(err)
	}
}

// hears waits until the browser has reported a number of complaints. It shows that quiet would notice them.
func (p *tab) hears(t *testing.T, least int) {
	t.Helper()
	hang.Until(t, fmt.Sprintf("the browser reports %d complaints", least), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.complaints) >= least
	})
}
