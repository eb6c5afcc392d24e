package browser_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/series"
)

func htmlOf(t *testing.T, d report.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.HTML(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// drawnLine describes a line of a chart as found in the page.
type drawnLine struct {
	Name             string
	Points, Measured int
	// Pieces is the number of horizontal pieces in the line's paths.
	Pieces int
}

// lines is a JavaScript function that returns the lines of a chart in its wide version.
const lines = `(id) => [...document.querySelectorAll('svg.wide[data-chart="' + id + '"] g.line')].map((g) => ({
  Name: g.dataset.name, Points: +g.dataset.points, Measured: +(g.dataset.measured || g.dataset.points),
  Pieces: [...g.querySelectorAll("path.trace")].reduce((n, p) => n + (p.getAttribute("d").match(/H/g) || []).length, 0)}))`

func linesOf(t *testing.T, p *tab, chart string) []drawnLine {
	t.Helper()
	return ask[[]drawnLine](t, p, "("+lines+")("+quoted(chart)+")")
}

func quoted(text string) string {
	made, _ := json.Marshal(text)
	return string(made)
}

// namesOf returns the data-name attributes of the selected elements.
func namesOf(t *testing.T, p *tab, selector string) []string {
	t.Helper()
	return ask[[]string](t, p, "[...document.querySelectorAll("+quoted(selector)+")].map((e) => e.dataset.name)")
}

// pointsOf returns the number of points on the targets that performed an operation.
func pointsOf(d report.Document, operation measure.Operation) int {
	count := 0
	for _, step := range d.Series.Steps {
		for _, target := range step.Targets {
			if slices.ContainsFunc(target.Points, func(p series.Point) bool { return p.Counters[operation].Operations > 0 }) {
				count += len(target.Points)
			}
		}
	}
	return count
}

func TestReport(t *testing.T) {
	d := short(t)
	p := open(t, htmlOf(t, d), 1100, "screen")
	p.quiet(t)
	// Check that quiet would notice an error message, an exception and a request.
	ask[bool](t, p, `(console.error("heard"), setTimeout(() => { throw new Error("thrown") }), fetch("https://example.org/").catch(() => {}), true)`)
	p.hears(t, 3)
	for operation, name := range map[measure.Operation]string{measure.Read: "Read", measure.Write: "Write"} {
		for _, chart := range []string{"throughput", "iops"} {
			drawn := linesOf(t, p, chart)
			at := slices.IndexFunc(drawn, func(l drawnLine) bool { return l.Name == name })
			want := pointsOf(d, operation)
			if at < 0 || want < 20 || drawn[at].Points != want || drawn[at].Measured != want || drawn[at].Pieces != want {
				t.Errorf("%s: %+v, want %d points of %s", chart, drawn, want, name)
			}
		}
	}
	for _, chart := range []string{"throughput", "iops", "latency-0"} {
		if got, want := namesOf(t, p, `svg.wide[data-chart="`+chart+`"] g.band`), []string{"layout", "mixed", "depth"}; !slices.Equal(got, want) {
			t.Errorf("%s: phases %q, want %q", chart, got, want)
		}
	}
	text := ask[string](t, p, `document.querySelector('svg.wide[data-chart="throughput"] g.band text').textContent`)
	if text != "layout" {
		t.Errorf("the first phase is labelled %q", text)
	}
	limits := ask[[]float64](t, p, `[...document.querySelectorAll('svg.wide[data-chart="throughput"] g.limit')].map((e) => +e.dataset.value)`)
	if !slices.Equal(limits, []float64{32e6, 260e6}) {
		t.Errorf("limits: %v", limits)
	}
	if drawn := linesOf(t, p, "ramp-0"); len(drawn) != 1 || drawn[0].Points != 5 {
		t.Errorf("the ramp: %+v", drawn)
	}
	if got := namesOf(t, p, `svg.wide[data-chart="ramp-0"] g.marked`); len(got) != 1 || !strings.HasPrefix(got[0], "knee at ") {
		t.Errorf("the knee: %q", got)
	}
	if drawn := linesOf(t, p, "distribution-0"); len(drawn) != 2 {
		t.Errorf("the distribution: %+v", drawn)
	}
	if bars := namesOf(t, p, `svg.wide[data-chart="timeline"] g.bar`); len(bars) < 3 {
		t.Errorf("the timeline: %q", bars)
	}
	p.picture(t, "short-light")
}

// TestAccessible checks, in light and in dark mode, that each chart has a title and a description, identifiers are
// unique, headings skip no level, tables have header cells, and all text has sufficient contrast.
func TestAccessible(t *testing.T) {
	html := htmlOf(t, short(t))
	for _, scheme := range []string{"light", "dark"} {
		p := open(t, html, 1100, "screen", &emulation.MediaFeature{Name: "prefers-color-scheme", Value: scheme})
		for _, problem := range ask[[]string](t, p, problems) {
			t.Errorf("%s: %s", scheme, problem)
		}
		p.quiet(t)
		p.picture(t, "short-"+scheme)
	}
}

const problems = `(() => {
  const found = [], seen = new Set();
  for (const e of document.querySelectorAll("[id]")) { if (seen.has(e.id)) found.push("two elements are " + e.id); seen.add(e.id); }
  const charts = document.querySelectorAll("svg.chart");
  if (charts.length < 10) found.push("only " + charts.length + " charts");
  for (const svg of charts) {
    for (const name of ["aria-labelledby", "aria-describedby"]) {
      const by = document.getElementById(svg.getAttribute(name));
      if (!by || by.textContent.trim().length < 5) found.push(svg.dataset.chart + " has no " + name);
    }
    if (svg.getAttribute("role") !== "img") found.push(svg.dataset.chart + " is no image");
  }
  let level = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) { const n = +h.tagName[1]; if (n > level + 1) found.push("heading jumps: " + h.textContent); level = n; }
  for (const table of document.querySelectorAll("table")) if (!table.querySelector("th[scope]")) found.push("a table without headings");
  const channels = (c) => { const n = c.match(/[\d.]+/g).map(Number); return c.startsWith("color(") ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1]; };
  const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3]));
  const luminance = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => { const layers = []; for (let at = e; at; at = at.parentElement) { const c = channels(getComputedStyle(at).backgroundColor); if (c[3] > 0) layers.push(c); } let below = [255, 255, 255]; for (const layer of layers.reverse()) below = over(layer, below); return below; };
  for (const e of document.querySelectorAll("p, h1, h2, h3, h4, li, td, th, dt, dd, small, summary, figcaption, caption, a, .badge, button, svg.wide text")) {
    if (!e.textContent.trim() || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), colour = channels(e.tagName === "text" ? style.fill : style.color), below = ground(e);
    const a = luminance(over(colour, below)), b = luminance(below), contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push("contrast of " + contrast.toFixed(2) + ": " + e.tagName + " " + e.textContent.slice(0, 40));
  }
  return found;
})()`

// TestNarrowAndPrint checks that a page 400 pixels wide shows the narrow charts without horizontal scrolling, and that
// a printed page shows the wide charts on a white background.
func TestNarrowAndPrint(t *testing.T) {
	html := htmlOf(t, short(t))
	const shown = `[...document.querySelectorAll("svg.chart")].filter((e) => getComputedStyle(e).display !== "none").map((e) => e.classList.contains("narrow") ? "narrow" : "wide")`
	narrow := open(t, html, 400, "screen")
	if width := ask[int](t, narrow, "document.documentElement.scrollWidth"); width > 400 {
		t.Errorf("at 400 pixels the page is %d wide", width)
	}
	if got := ask[[]string](t, narrow, shown); len(got) == 0 || slices.Contains(got, "wide") {
		t.Errorf("at 400 pixels: %q", got)
	}
	narrow.picture(t, "short-400")
	printed := open(t, html, 794, "print", &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "dark"})
	if width := ask[int](t, printed, "document.documentElement.scrollWidth"); width > 794 {
		t.Errorf("on paper the page is %d wide", width)
	}
	if got := ask[[]string](t, printed, shown); len(got) == 0 || slices.Contains(got, "narrow") {
		t.Errorf("on paper: %q", got)
	}
	if ground := ask[string](t, printed, "getComputedStyle(document.body).backgroundColor"); ground != "rgb(255, 255, 255)" {
		t.Errorf("the background on paper is %s", ground)
	}
	pdf := get(t, printed, func(ctx context.Context, target *chromedp.Target) ([]byte, error) {
		made, err := cdp.Call(ctx, target, page.PrintToPDF, page.PrintToPDFParams{})
		return made.Data, err
	})
	if !bytes.HasPrefix(pdf, []byte("%PDF")) || len(pdf) < 20_000 {
		t.Errorf("the PDF has %d bytes", len(pdf))
	}
	printed.picture(t, "short-print")
}

// TestSorting checks that clicking the header of a column sorts the table by value, a second click reverses the order,
// and a third restores it.
func TestSorting(t *testing.T) {
	p := open(t, htmlOf(t, short(t)), 1100, "screen")
	const column = `[...document.querySelector("#phases table").tBodies[0].rows].map((r) => r.cells[2].textContent)`
	before := ask[[]string](t, p, column)
	click := func() []string {
		ask[bool](t, p, `(document.querySelectorAll("#phases table thead button")[2].click(), true)`)
		return ask[[]string](t, p, column)
	}
	down := click()
	up := click()
	if slices.Equal(down, up) || down[0] != up[len(up)-1] || len(down) != len(before) || down[0] != "393.2 MB/s" {
		t.Errorf("down %q, up %q", down, up)
	}
	if after := click(); !slices.Equal(before, after) {
		t.Errorf("back: %q, was %q", after, before)
	}
	p.quiet(t)
}

// TestHostile checks that HTML in names and messages is shown as text.
func TestHostile(t *testing.T) {
	html := htmlOf(t, hostile(t))
	p := open(t, html, 1100, "screen")
	p.quiet(t)
	if ask[bool](t, p, `"harmed" in window || document.querySelectorAll("img, iframe, object, link, base, form").length > 0 || document.scripts.length !== 1`) {
		t.Error("a name became markup")
	}
	if !ask[bool](t, p, `document.querySelector("h1").textContent.includes("<script>window.harmed=1</script>{{.}}")`) {
		t.Error("the name is not shown as it is")
	}
	if names := namesOf(t, p, `svg.wide[data-chart="throughput"] g.band`); len(names) != 3 || !strings.Contains(names[1], "onerror") {
		t.Errorf("phases: %q", names)
	}
	if charts := ask[int](t, p, `document.querySelectorAll("svg.chart").length`); charts < 10 {
		t.Errorf("%d charts", charts)
	}
}

// TestTwelveHours checks that the report of a twelve-hour run on two targets is smaller than 3 MB and draws fewer
// points than were measured.
func TestTwelveHours(t *testing.T) {
	d := long(t)
	html := htmlOf(t, d)
	if len(html) > 3_000_000 {
		t.Errorf("the report has %d bytes", len(html))
	}
	if strings.Contains(html, "http://") && strings.Contains(strings.ReplaceAll(html, "http://www.w3.org/2000/svg", ""), "http://") {
		t.Error("the page contains a URL")
	}
	p := open(t, html, 1100, "screen")
	p.quiet(t)
	drawn := linesOf(t, p, "throughput")
	if len(drawn) != 2 {
		t.Fatalf("%+v", drawn)
	}
	for _, line := range drawn {
		if line.Measured < 43_190 || line.Points < 400 || line.Points > 1000 || line.Pieces != line.Points {
			t.Errorf("%+v", line)
		}
	}
	for _, chart := range []string{"latency-0", "latency-1"} {
		for _, line := range linesOf(t, p, chart) {
			if line.Measured < 719 || line.Measured > 721 {
				t.Errorf("%s: %+v", chart, line)
			}
		}
	}
	p.picture(t, "long-light")
}
