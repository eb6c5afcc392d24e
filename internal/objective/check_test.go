package objective_test

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/objective"
	"github.com/storagebench/storagebench/test/builders"
)

func TestCheck(t *testing.T) {
	fio := &v1alpha1.Workload{Engine: v1alpha1.Engine{Fio: &v1alpha1.FioProfile{}}}
	program := v1alpha1.Workload{Engine: v1alpha1.Engine{Command: &v1alpha1.CommandProfile{}}}
	run := &v1alpha1.RunSpec{Workload: fio, Targets: []v1alpha1.Target{{Name: "a"}, {Name: "b"}}, Phases: []v1alpha1.Phase{
		{Name: "steady", Steady: &v1alpha1.SteadyPhase{}},
		{Name: "drain", BurstDrain: &v1alpha1.BurstDrainPhase{}},
		{Name: "pause", Cooldown: &v1alpha1.CooldownPhase{}},
		{Name: "refill", Cooldown: &v1alpha1.CooldownPhase{Redrain: &v1alpha1.Redrain{}}},
		{Name: "ramp", Ramp: &v1alpha1.RampPhase{Dimension: v1alpha1.RampJobs, Steps: []int64{1, 8}}},
		{Name: "zip", Steady: &v1alpha1.SteadyPhase{}, Workload: &program},
		{Name: "mixed", Steady: &v1alpha1.SteadyPhase{}, TargetWorkloads: []v1alpha1.TargetWorkload{{Target: "b", Workload: program}}},
		{Name: "own", Steady: &v1alpha1.SteadyPhase{}, TargetWorkloads: []v1alpha1.TargetWorkload{{Target: "a", Workload: program}, {Target: "b", Workload: program}}},
	}}
	random := func(readPercent int32) *v1alpha1.Workload { return builders.Fio().ReadPercent(readPercent).Workload() }
	mixes := &v1alpha1.SweepPhase{Axes: v1alpha1.SweepAxes{Jobs: []int32{1, 8}, ReadPercent: []int32{0, 50, 100}}}
	run.Phases = append(run.Phases,
		v1alpha1.Phase{Name: "layout", Prepare: &v1alpha1.PreparePhase{}, Workload: random(70)},
		v1alpha1.Phase{Name: "reads", Steady: &v1alpha1.SteadyPhase{}, Workload: random(100)},
		v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{}, Workload: random(70)},
		v1alpha1.Phase{Name: "creates", SmallFiles: &v1alpha1.SmallFilesPhase{Operations: []v1alpha1.Operation{v1alpha1.OperationCreate}}, Workload: random(70)},
		v1alpha1.Phase{Name: "rates", Search: &v1alpha1.SearchPhase{}, Workload: random(100)},
		v1alpha1.Phase{Name: "both", Steady: &v1alpha1.SteadyPhase{}, Workload: random(70)},
		v1alpha1.Phase{Name: "mixes", Sweep: mixes, Workload: random(100)},
		v1alpha1.Phase{Name: "extremes", Sweep: &v1alpha1.SweepPhase{Axes: v1alpha1.SweepAxes{Jobs: []int32{1, 8}, ReadPercent: []int32{0, 100}}}, Workload: random(50)})
	phase := func(name string) v1alpha1.Phase {
		return v1alpha1.Phase{Name: name, Workload: random(100),
			TargetWorkloads: []v1alpha1.TargetWorkload{{Target: "b", Workload: *random(0)}}}
	}
	apart, mixed, beside := phase("apart"), phase("apart-unknown"), phase("beside")
	apart.Steady, mixed.Steady = &v1alpha1.SteadyPhase{}, &v1alpha1.SteadyPhase{}
	mixed.TargetWorkloads[0].Workload = program
	beside.Interference = &v1alpha1.InterferencePhase{Victims: []string{"a"}}
	aside := beside
	aside.Name, aside.TargetWorkloads = "aside", mixed.TargetWorkloads
	run.Phases = append(run.Phases, apart, mixed, beside, aside)
	documented := &v1alpha1.RatioObjective{Of: "Documented"}
	const noLimits = "are not compared with documented limits: use a steady"
	half := &v1alpha1.CellSelector{ReadPercent: pointer[int32](50)}
	jobs := &v1alpha1.CellSelector{Jobs: pointer[int32](8)}
	readJobs := &v1alpha1.CellSelector{Jobs: pointer[int32](8), ReadPercent: pointer[int32](100)}
	for name, test := range map[string]struct {
		objective v1alpha1.Objective
		want      string
	}{
		"throughput":                 {v1alpha1.Objective{Phase: "steady", Throughput: atLeast("1M")}, ""},
		"latency":                    {v1alpha1.Objective{Phase: "steady", Latency: latency("99.95", "1ms")}, ""},
		"burst":                      {v1alpha1.Objective{Phase: "drain", Burst: atLeast("1M")}, ""},
		"refill":                     {v1alpha1.Objective{Phase: "refill", Refill: atLeast("1M")}, ""},
		"cell":                       {v1alpha1.Objective{Phase: "ramp", Cell: jobs, IOPS: atLeast("1")}, ""},
		"compression":                {v1alpha1.Objective{Phase: "zip", Ratio: &v1alpha1.RatioObjective{Of: "Compression"}}, ""},
		"compression of a ramp":      {v1alpha1.Objective{Phase: "ramp", Ratio: &v1alpha1.RatioObjective{Of: "Compression"}}, ""},
		"compression of a cell":      {v1alpha1.Objective{Phase: "ramp", Cell: jobs, Ratio: &v1alpha1.RatioObjective{Of: "Compression"}}, "Compression is a figure of the whole phase, not of a cell: remove cell"},
		"compression of no cell":     {v1alpha1.Objective{Phase: "steady", Cell: jobs, Ratio: &v1alpha1.RatioObjective{Of: "Compression"}}, "not of a cell: remove cell"},
		"no such phase":              {v1alpha1.Objective{Phase: "none", IOPS: atLeast("1")}, ""}, // API refuses it
		"burst of a steady phase":    {v1alpha1.Objective{Phase: "steady", Burst: atLeast("1M")}, "a steady phase does not measure burst: use a burstDrain or refill phase"},
		"time of a steady phase":     {v1alpha1.Objective{Phase: "steady", TimeToBaseline: &v1alpha1.DurationBounds{}}, "measure time to baseline"},
		"throughput of a pause":      {v1alpha1.Objective{Phase: "pause", Throughput: atLeast("1M")}, "applies no load"},
		"refill of a pause":          {v1alpha1.Objective{Phase: "pause", Refill: atLeast("1M")}, "measure refill"},
		"throughput of a ramp":       {v1alpha1.Objective{Phase: "ramp", Throughput: atLeast("1M")}, "set cell"},
		"cell of a steady phase":     {v1alpha1.Objective{Phase: "steady", Cell: jobs, Throughput: atLeast("1M")}, "remove cell"},
		"latency of a program":       {v1alpha1.Objective{Phase: "zip", Latency: latency("99", "1ms")}, "only fio measures latency"},
		"latency of two workloads":   {v1alpha1.Objective{Phase: "mixed", Latency: latency("99", "1ms")}, "target b uses another engine: set target to one that uses fio, such as a"},
		"latency of an idle program": {v1alpha1.Objective{Phase: "aside", Latency: latency("99", "1ms")}, ""},
		"latency of its fio":         {v1alpha1.Objective{Phase: "mixed", Target: "a", Latency: latency("99", "1ms")}, ""},
		"latency of its program":     {v1alpha1.Objective{Phase: "mixed", Target: "b", Latency: latency("99", "1ms")}, "only fio measures latency"},
		"latency of two programs":    {v1alpha1.Objective{Phase: "own", Latency: latency("99", "1ms")}, "only fio measures latency"},
		"documented of a whole ramp": {v1alpha1.Objective{Phase: "ramp", Ratio: &v1alpha1.RatioObjective{Of: "Documented"}}, "set cell"},
		"documented of a search":     {v1alpha1.Objective{Phase: "rates", Ratio: documented}, "search phases " + noLimits},
		"documented of small files":  {v1alpha1.Objective{Phase: "files", Ratio: documented}, "smallFiles phases " + noLimits},
		"documented of a layout":     {v1alpha1.Objective{Phase: "layout", Ratio: documented}, "prepare phases " + noLimits},
		"documented of a victim":     {v1alpha1.Objective{Phase: "beside", Ratio: documented}, "interference phases " + noLimits},
		"documented of a refill":     {v1alpha1.Objective{Phase: "refill", Ratio: documented}, ""},
		"layout of a mix":            {v1alpha1.Objective{Phase: "layout", Throughput: atLeast("1M")}, ""},
		"reads only":                 {v1alpha1.Objective{Phase: "reads", Latency: latency("99", "1ms")}, ""},
		"rate of small files":        {v1alpha1.Objective{Phase: "files", IOPS: atLeast("1")}, "set operation to one of Create, Stat, Write, Read, Delete"},
		"rate of deletions":          {v1alpha1.Objective{Phase: "files", Operation: v1alpha1.OperationDelete, IOPS: atLeast("1")}, ""},
		"rate of one operation":      {v1alpha1.Objective{Phase: "creates", IOPS: atLeast("1")}, ""},
		"throughput of creations":    {v1alpha1.Objective{Phase: "creates", Throughput: atLeast("1M")}, "moves no bytes, so it has no throughput: set iops or latency instead"},
		"throughput of deletions":    {v1alpha1.Objective{Phase: "files", Operation: v1alpha1.OperationDelete, Throughput: atLeast("1M")}, "moves no bytes"},
		"throughput of small writes": {v1alpha1.Objective{Phase: "files", Operation: v1alpha1.OperationWrite, Throughput: atLeast("1M")}, ""},
		"rate of another operation":  {v1alpha1.Objective{Phase: "creates", Operation: v1alpha1.OperationRead, IOPS: atLeast("1")}, "does not perform this operation: use one of Create"},
		"writes of reads":            {v1alpha1.Objective{Phase: "reads", Operation: v1alpha1.OperationWrite, IOPS: atLeast("1")}, "does not perform this operation: use one of Read"},
		"trims of a mix":             {v1alpha1.Objective{Phase: "both", Operation: v1alpha1.OperationTrim, IOPS: atLeast("1")}, "use one of Read, Write"},
		"flushes of a mix":           {v1alpha1.Objective{Phase: "both", Operation: v1alpha1.OperationSync, Latency: latency("99", "1ms")}, ""},
		"writes of unknown work":     {v1alpha1.Objective{Phase: "zip", Operation: v1alpha1.OperationWrite, IOPS: atLeast("1")}, ""},
		"reads of a mix":             {v1alpha1.Objective{Phase: "both", Operation: v1alpha1.OperationRead, Latency: latency("99", "1ms")}, ""},
		"latency of a mix":           {v1alpha1.Objective{Phase: "both", Latency: latency("99", "1ms")}, "set operation to one of Read, Write"},
		"ratio of a mix":             {v1alpha1.Objective{Phase: "both", Ratio: &v1alpha1.RatioObjective{Of: "Documented"}}, ""},
		"cell of a mix":              {v1alpha1.Objective{Phase: "mixes", Cell: half, IOPS: atLeast("1")}, "set operation to one of Read, Write"},
		"cells with a mix":           {v1alpha1.Objective{Phase: "mixes", Cell: jobs, IOPS: atLeast("1")}, "set operation to one of Read, Write"},
		"cells without a mix":        {v1alpha1.Objective{Phase: "extremes", Cell: jobs, IOPS: atLeast("1")}, ""},
		"reads of some cells":        {v1alpha1.Objective{Phase: "extremes", Operation: v1alpha1.OperationRead, Cell: jobs, IOPS: atLeast("1")}, "not perform this operation on every target and in every cell"},
		"reads of a cell":            {v1alpha1.Objective{Phase: "extremes", Operation: v1alpha1.OperationRead, Cell: readJobs, IOPS: atLeast("1")}, ""},
		"reads of one target":        {v1alpha1.Objective{Phase: "apart", Operation: v1alpha1.OperationRead, IOPS: atLeast("1")}, "not perform this operation on every target and in every cell"},
		"reads of that target":       {v1alpha1.Objective{Phase: "apart", Target: "a", Operation: v1alpha1.OperationRead, IOPS: atLeast("1")}, ""},
		"writes beside unknown work": {v1alpha1.Objective{Phase: "apart-unknown", Operation: v1alpha1.OperationWrite, IOPS: atLeast("1")}, "not perform this operation on every target and in every cell"},
		"reads beside unknown work":  {v1alpha1.Objective{Phase: "apart-unknown", Operation: v1alpha1.OperationRead, IOPS: atLeast("1")}, ""},
		"reads of the only victim":   {v1alpha1.Objective{Phase: "beside", Operation: v1alpha1.OperationRead, IOPS: atLeast("1")}, ""},
	} {
		problems := objective.Check([]v1alpha1.Objective{test.objective}, run)
		switch {
		case test.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", name, problems)
		case test.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), test.want) ||
			problems[0].Field != "spec.objectives[0]"+fieldOf(test.want)):
			t.Errorf("%s: %v, want %q", name, problems, test.want)
		}
	}
}

// TestCheckCell checks that a selector that matches no cell is refused.
func TestCheckCell(t *testing.T) {
	run := &v1alpha1.RunSpec{Workload: builders.Fio().Reads().Workload(), Targets: []v1alpha1.Target{{Name: "a"}}, Phases: []v1alpha1.Phase{
		{Name: "sweep", Sweep: &v1alpha1.SweepPhase{Axes: v1alpha1.SweepAxes{Jobs: []int32{1, 8}, BlockSize: builders.BlockSizes("4Ki", "1Mi")}}},
		{Name: "clients-sweep", Sweep: &v1alpha1.SweepPhase{Axes: v1alpha1.SweepAxes{Clients: []int32{1, 4}, ReadPercent: []int32{0, 100}}}},
		{Name: "ramp", Ramp: &v1alpha1.RampPhase{Dimension: v1alpha1.RampQueueDepth, Steps: []int64{1, 32}}},
		{Name: "clients-ramp", Ramp: &v1alpha1.RampPhase{Dimension: v1alpha1.RampClients, Steps: []int64{1, 2}}},
	}}
	run.Clients.Count = 4
	value := pointer[int32]
	for name, test := range map[string]struct {
		phase string
		cell  v1alpha1.CellSelector
		want  string
	}{
		"of both axes":         {"sweep", v1alpha1.CellSelector{Jobs: value(8), BlockSize: quantity("4096")}, ""},
		"of one axis":          {"sweep", v1alpha1.CellSelector{Jobs: value(1)}, ""},
		"of all clients":       {"sweep", v1alpha1.CellSelector{Clients: value(4)}, ""},
		"of some clients":      {"clients-sweep", v1alpha1.CellSelector{Clients: value(1), ReadPercent: value(0)}, ""},
		"of a step":            {"ramp", v1alpha1.CellSelector{Clients: value(4), QueueDepth: value(32)}, ""},
		"of a step's clients":  {"clients-ramp", v1alpha1.CellSelector{Clients: value(2)}, ""},
		"no such jobs":         {"sweep", v1alpha1.CellSelector{Jobs: value(16)}, "no cell has jobs 16: "},
		"no such size":         {"sweep", v1alpha1.CellSelector{BlockSize: quantity("8Ki")}, "no cell has blockSize 8Ki: "},
		"no such axis":         {"sweep", v1alpha1.CellSelector{Jobs: value(8), QueueDepth: value(32)}, "no cell has jobs 8, queueDepth 32: "},
		"no such number":       {"sweep", v1alpha1.CellSelector{Clients: value(2)}, "no cell has clients 2: "},
		"no such clients":      {"clients-sweep", v1alpha1.CellSelector{Clients: value(2)}, "no cell has clients 2: "},
		"no such mix":          {"clients-sweep", v1alpha1.CellSelector{ReadPercent: value(50)}, "no cell has readPercent 50: "},
		"no such step":         {"ramp", v1alpha1.CellSelector{QueueDepth: value(2)}, "no cell has queueDepth 2: "},
		"another dimension":    {"ramp", v1alpha1.CellSelector{Jobs: value(1)}, "no cell has jobs 1: "},
		"no step's clients":    {"clients-ramp", v1alpha1.CellSelector{Clients: value(4)}, "no cell has clients 4: "},
		"of a ramp of clients": {"clients-ramp", v1alpha1.CellSelector{QueueDepth: value(1)}, "no cell has queueDepth 1: "},
	} {
		problems := objective.Check([]v1alpha1.Objective{{Phase: test.phase, Cell: &test.cell, IOPS: atLeast("1")}}, run)
		switch {
		case test.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", name, problems)
		case test.want != "" && (len(problems) != 1 || problems[0].Field != "spec.objectives[0].cell" ||
			!strings.Contains(problems[0].Error(), test.want+"use values of the phase's axes or steps only")):
			t.Errorf("%s: %v, want %q", name, problems, test.want)
		}
	}
}

// TestCheckBounds checks that bounds that no figure can meet are refused. A CEL rule covers the bounds of quantities.
func TestCheckBounds(t *testing.T) {
	run := &v1alpha1.RunSpec{Workload: builders.Fio().Reads().Workload(), Targets: []v1alpha1.Target{{Name: "a"}}, Phases: []v1alpha1.Phase{
		{Name: "steady", Steady: &v1alpha1.SteadyPhase{}}, {Name: "drain", BurstDrain: &v1alpha1.BurstDrainPhase{}}}}
	tail := func(least, most v1alpha1.ShortDuration) v1alpha1.Objective {
		return v1alpha1.Objective{Phase: "steady", Latency: &v1alpha1.LatencyObjective{Percentile: "99", Min: &least, Max: &most}}
	}
	lasts := func(least, most v1alpha1.Duration) v1alpha1.Objective {
		return v1alpha1.Objective{Phase: "drain", TimeToBaseline: &v1alpha1.DurationBounds{Min: &least, Max: &most}}
	}
	share := func(least, most int32) v1alpha1.Objective {
		return v1alpha1.Objective{Phase: "steady", Ratio: &v1alpha1.RatioObjective{Of: "Documented", MinPercent: &least, MaxPercent: &most}}
	}
	for name, test := range map[string]struct {
		objective v1alpha1.Objective
		want      string
	}{
		"latency":       {tail("500us", "5ms"), ""},
		"one latency":   {tail("5ms", "5ms"), ""},
		"latency below": {tail("10ms", "5ms"), `spec.objectives[0].latency.max: Invalid value: "5ms": cannot be below min; swap the two`},
		"time":          {lasts("30m", "1h"), ""},
		"time below":    {lasts("1h", "30m"), `spec.objectives[0].timeToBaseline.max: Invalid value: "30m": cannot be below min; swap the two`},
		"ratio":         {share(90, 110), ""},
		"ratio below":   {share(110, 90), `spec.objectives[0].ratio.maxPercent: Invalid value: 90: cannot be below minPercent; swap the two`},
	} {
		got := ""
		if problems := objective.Check([]v1alpha1.Objective{test.objective}, run); len(problems) > 0 {
			got = problems.ToAggregate().Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// fieldOf returns the path within an objective that a message refers to.
func fieldOf(message string) string {
	switch {
	case strings.Contains(message, " one of "), strings.Contains(message, "moves no bytes"),
		strings.Contains(message, "perform this operation"):
		return ".operation"
	case strings.Contains(message, "not of a cell"):
		return ""
	}
	return ".phase"
}
