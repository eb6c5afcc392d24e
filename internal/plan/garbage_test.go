package plan_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// fill sets a specification to values that no user would write.
func fill(random *rand.Rand, v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[resource.Quantity]() {
		v.Set(reflect.ValueOf(resource.MustParse(pick(random, "0", "-1", "1", "0.5", "4Ki", "64Mi", "1E", "-9E", "999999999999999999999", "1n"))))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if random.IntN(2) == 0 && depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(random, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(random, v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		made := reflect.MakeSlice(v.Type(), random.IntN(4), 4)
		for i := range made.Len() {
			fill(random, made.Index(i), depth+1)
		}
		v.Set(made)
	case reflect.String:
		v.SetString(pick(random, "", "a", "b", "1h", "2s", "0s", "-1s", "Jobs", "Clients", "QueueDepth", "Burst", "Baseline", "Any", "Random", "Sequential", "libaio", "Parallel", "é\x00"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := pick[int64](random, 0, 1, 2, 3, 4, 100, -1, math.MaxInt64, math.MinInt64)
		if v.Kind() == reflect.Int32 {
			n = int64(int32(n >> (random.IntN(2) * 32)))
		}
		v.SetInt(n)
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	default: // maps stay empty
	}
}

// TestGarbage checks that nonsense is refused without a panic: plans are also made without admission.
func TestGarbage(t *testing.T) {
	accepted := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 3))
		run := anything(random)
		for range 1 + random.IntN(3) {
			phase := &run.Phases[random.IntN(len(run.Phases))]
			switch random.IntN(6) {
			case 0:
				*phase = v1alpha1.Phase{}
				fill(random, reflect.ValueOf(phase).Elem(), 0)
			case 1:
				fill(random, reflect.ValueOf(&run.Targets[0].Documented).Elem(), 0)
			case 2:
				fill(random, reflect.ValueOf(&run.Workload).Elem(), 0)
			case 3:
				fill(random, reflect.ValueOf(&phase.Sweep).Elem(), 0)
			case 4:
				fill(random, reflect.ValueOf(&phase.Cooldown).Elem(), 0)
			case 5:
				fill(random, reflect.ValueOf(&phase.Ramp).Elem(), 0)
			}
		}
		made, problems := plan.Make(run, int64(seed))
		if len(problems) == 0 {
			accepted++
			check(t, run, made)
			if t.Failed() {
				t.Fatalf("seed %d\n%s", seed, text(made))
			}
		}
	}
	if accepted < 100 {
		t.Errorf("only %d were accepted: the test proves little", accepted)
	}
}
