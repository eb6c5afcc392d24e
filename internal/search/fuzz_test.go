package search_test

import (
	"encoding/binary"
	"math"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/search"
)

// FuzzSearch checks that every search admitted by the API ends within its planned steps and offers only rates within
// its bounds, whatever the steps report. Each report takes 16 bytes: the achieved rate and the share of slower
// operations.
func FuzzSearch(f *testing.F) {
	f.Add("99", "60s", int64(1), int64(100_000), int32(5), uint16(4), []byte("0123456789abcdef"))
	f.Add("99.9999", "1s", int64(0), int64(1e8), int32(1), uint16(1000), []byte{})
	f.Add("1", "99999h", int64(1e8), int64(1e8), int32(50), uint16(1), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, percentile, each string, least, most int64, precision int32, clients uint16, reports []byte) {
		if most < 1 || most > 1e8 || least < 0 || least > most || len(percentile) > 8 || len(reports) < 16 {
			return
		}
		phase := spec(percentile, nil, most)
		if least > 0 {
			phase.Rate.Min = &least
		}
		phase.StepDuration, phase.PrecisionPercent = v1alpha1.Duration(each), &precision
		question, problems := search.Of(field.NewPath("search"), phase, int(clients))
		if len(problems) > 0 {
			return
		}
		if question.Min < 1 || question.Min > question.Max || question.Max > most || question.Trials > 100 {
			t.Fatalf("%+v", question)
		}
		var trials []search.Trial
		explored, confirmed := 0, 0
		for i := 0; ; i++ {
			decision := question.Next(trials)
			if decision.Stage == search.Done {
				if decision.Rate != 0 && (decision.Rate < question.Min || decision.Rate > question.Max) {
					t.Errorf("it found %d", decision.Rate)
				}
				return
			}
			if decision.Stage == search.Confirming {
				confirmed++
			} else {
				explored++
			}
			if explored > question.Trials || confirmed > question.Confirming {
				t.Fatalf("%d steps to narrow down and %d to confirm, of %+v", explored, confirmed, question)
			}
			if decision.Rate < question.Min || decision.Rate > question.Max || decision.Rate%question.Unit != 0 {
				t.Fatalf("it offers %d, of %+v", decision.Rate, question)
			}
			at := i * 16 % (len(reports) / 16 * 16)
			trials = append(trials, search.Trial{Offered: decision.Rate, Confirms: decision.Stage == search.Confirming, Known: reports[at]%8 != 0, Seconds: 60,
				Achieved: float(reports[at:]), Slower: float(reports[at+8:])})
		}
	})
}

func float(encoded []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(encoded)) }
