package live

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// FuzzStatus shows runs with arbitrary statuses in a terminal and as lines. Nothing in a status may move the cursor.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"stage":"Running\u001b[2J","message":"\u009b31m","startTime":"2026-03-01T12:00:00.000000Z",` +
		`"lostClients":[{"target":"\u001b]0;x\u0007","reason":"a\nb\r\u202e"}],"conditions":[{"type":"Failed","status":"True","reason":"\u001b","message":"\u007f"}]}`))
	f.Add([]byte(`{"stage":"Running","live":{"step":"00-layout","clients":-4,"points":[{"milliseconds":-1},{"milliseconds":9223372036854775807,"bytes":-1}],` +
		`"operations":[{"operation":"\u001b[2J","bytesPerSecond":-1}],"targets":[{"target":"\u001b[2J","creditPercent":700}]},` +
		`"steps":[{"id":"\u001b[2J","attempt":1,"state":"Failed","message":"\u001b[2J","endTime":"2026-03-01T12:00:00.000000Z"}],` +
		`"phases":[{"name":"layout","targets":[{"target":"\u001b","warnings":[{"type":"\u001b","severity":"Warning","message":"\u001b[2J"}]}]}]}`))
	for _, name := range slices.Sorted(maps.Keys(worlds)) {
		one := worlds[name]
		run, _ := world(f, one.done, one.change)
		text, err := json.Marshal(run.Status)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		run, planned := world(t, 0, func(*v1alpha1.BenchmarkRun) {})
		run.Status = v1alpha1.BenchmarkRunStatus{}
		if json.Unmarshal(text, &run.Status) != nil {
			return
		}
		var out bytes.Buffer
		lines := NewLines(&out, planned, start)
		for _, after := range []time.Duration{0, time.Minute, time.Hour} {
			lines.Tell(run, start.Add(after))
			for _, options := range []Options{{Width: 80, Height: 24, Colour: true}, {Width: 40, Height: 12, Plain: true}} {
				for _, one := range Frame(Of(run, planned, start.Add(after)), options) {
					out.WriteString(colour.ReplaceAllString(one, "") + "\n")
				}
			}
		}
		if at := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
			t.Errorf("a control character came through: %q", out.String()[at:min(at+20, out.Len())])
		}
	})
}
