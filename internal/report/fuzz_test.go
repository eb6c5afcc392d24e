package report_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode"

	"github.com/storagebench/storagebench/internal/report"
)

// brief writes the short text for a terminal; everything writes the text with all details.
func brief(w io.Writer, d report.Document) error {
	return report.Text(w, d, report.TextOptions{Columns: 80})
}

func everything(w io.Writer, d report.Document) error {
	return report.Text(w, d, report.TextOptions{Verbose: true, Columns: 100, ASCII: true})
}

// FuzzRead checks that no document makes the report fail or write control characters to a terminal, and that its JSON
// can be read again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{
		`{"schemaVersion":1,"benchmark":"b","run":"r"}`,
		`{"schemaVersion":1,"benchmark":"b\u001b[2J","run":"r","stage":"x","phases":[{"name":"p","targets":[{"target":"t","operations":[{"operation":"Read","latency":{"meanNanoseconds":-1}}]}]}]}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","startTime":"2026-11-21T12:00:00.000000Z","endTime":"0001-01-01T00:00:00.000000Z","environments":[{"cpuMilli":-5,"volumes":[{"freeBytes":-1}]}]}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","conditions":[{"type":"Valid","status":"False"}],"warnings":[{"severity":"New","type":"T"}],"lostClients":[{}],"dataLeft":[{}]}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","phases":[{"targets":[{"clients":9,"windowNanoseconds":-1,"tailNanoseconds":-1,"startSkewNanoseconds":9223372036854775807,"clientSpread":{"best":{},"median":{},"worst":{}}}]}]}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","startTime":"2026-11-21T12:00:00.000000Z","phases":[{"name":"p\u0007","kind":"BurstDrain","targets":[{"target":"t","inFlightNanoseconds":-5,"burst":{"exhausted":true,"dimension":"Odd\u001b","bytes":{"burst":{"value":-1,"lower":5,"upper":-9},"refillSource":"X\u001b","drops":[{"cause":"Y\u001b"}]},"nanosecondsToBaseline":{"value":-3},"message":"\u001b"},"cooldown":{"creditPercentAtEnd":-5}}]}],"steps":[{"id":"s","attempt":1,"state":"Running","startTime":"2026-11-21T11:00:00.000000Z","conclusion":"c\u001b"}],"spec":{"steps":[{"id":"s","phase":"p\u0007"}],"run":{"phases":[{"name":"p\u0007"}]}}}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","phases":[{"name":"p","kind":"Ramp","targets":[{"target":"t","knee":{"found":true},"steps":[{"cell":-4,"operations":[{"operation":"\u001b","iopsMilli":-7}]}]}]}],"spec":{"run":{"phases":[{"name":"p","ramp":{"dimension":"\u001b","steps":[-1,1,1]}}]}}}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","phases":[{"name":"p","kind":"Sweep","targets":[{"target":"t","steps":[{"cell":1,"driftPermille":-7,"warnings":["New"],"operations":[{"operation":"Read"},{"operation":"Sync"}]}]}]}],"spec":{"run":{"phases":[{"name":"p","sweep":{"regime":"\u001b","axes":{"jobs":[1,2],"blockSize":["4Ki","1"],"readPercent":[0,-1],"clients":[],"queueDepth":[7]}}}]}}}`,
		`{"schemaVersion":1,"benchmark":"b","run":"r","phases":[{"name":"p","kind":"Ramp"}],"spec":{"run":{"phases":[{"name":"p","ramp":{}}]}}}`,
		"benchmark: b\nphases: [{name: \"p\\u001b\", targets: [{target: t}]}]\nrun: r\nschemaVersion: 1\n",
		"benchmark: &a b\nrun: *a\nschemaVersion: 1\n---\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		document, err := report.Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for form, write := range map[string]func(io.Writer, report.Document) error{"text": brief, "long text": everything, "Markdown": report.Markdown, "HTML": report.HTML} {
			var shown strings.Builder
			if err := write(&shown, document); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if at := strings.IndexFunc(shown.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); at >= 0 {
				t.Errorf("a control character came through to the %s: %q", form, shown.String()[at:])
			}
		}
		if code := report.ExitCode(document); code < report.ExitMet || code > report.ExitInvalid {
			t.Errorf("exit code %d", code)
		}
		// The first write normalizes unusual values, such as the zero time. After that nothing may change.
		var written []string
		for range 3 {
			var b bytes.Buffer
			if err := report.JSON(&b, document); err != nil {
				// Years after 9999 cannot be written. A time zone can cause them.
				return
			}
			written = append(written, b.String())
			if document, err = report.Read(&b); err != nil {
				t.Fatalf("what was written cannot be read: %v", err)
			}
		}
		if written[1] != written[2] {
			t.Errorf("each time it is written differently:\n%s\n%s", written[1], written[2])
		}
	})
}
