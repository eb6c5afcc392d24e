package conductor

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/record"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/invariants"
)

// maxObjectBytes is the size limit of an object in etcd.
const maxObjectBytes = 1536 << 10

// FuzzStatus checks that, whatever agents describe, log and answer, the status of the run passes the API's rules, fits
// into an object and is safe to display.
func FuzzStatus(f *testing.F) {
	for seed := range uint64(192) {
		random := rand.New(rand.NewPCG(seed, 1))
		description, log := proto.Message(anything(random, &agentapi.DescribeResponse{})), plausibleLog(f)
		if random.IntN(8) > 0 {
			description = plausibleDescription()
		}
		if random.IntN(3) == 0 {
			description = spoilt(random, plausibleDescription())
		}
		var encoded []byte
		for i, message := range log {
			if random.IntN(60) == 0 || i == len(log)-1 && random.IntN(3) > 0 {
				message = spoilt(random, message)
			}
			encoded = protowire.AppendBytes(encoded, encode(f, message))
			if random.IntN(100) == 0 {
				encoded = protowire.AppendBytes(encoded, encode(f, anything(random, &agentapi.Record{})))
			}
		}
		kind := uint8(random.IntN(4))
		if seed%8 == 0 {
			kind = 4 + uint8(seed/8%3)
		}
		f.Add(kind, encode(f, description), encoded, encode(f, anything(random, &agentapi.FinishResponse{})))
	}
	f.Fuzz(func(t *testing.T, kind uint8, description, log, answer []byte) {
		run, planned := runOf(t, kind)
		now := time.Now()
		record.Begin(run, now)
		c := New(Options{RunUID: string(run.UID), Epoch: 1, LossTimeout: time.Hour, Tools: planned.Tools, Steps: planned.Steps,
			Records: record.Attempts(run, planned), Memory: NewBudget(64 << 20)})
		defer c.Close()
		var all []*reader
		for index := range 2 {
			one := &reader{client: newClient(c, decide.ClientKey{Target: "data", Index: index}, 0)}
			c.clients[one.key] = one.client
			c.keys = append(c.keys, one.key)
			one.describes(description)
			all = append(all, one)
		}
		record.Environments(run, c.Environments())
		for _, step := range planned.Steps[:min(len(planned.Steps), 6)] { // a search has dozens of steps
			step = record.Offering(run, step)
			attempt := decide.Attempt{Step: step.ID, Number: 1}
			start := c.Reference.Now()
			record.Intent(run, step, decide.Action{Attempt: attempt, Start: start, Deadline: start.Add(step.Limit)})
			if step.Clients > 0 {
				c.ask(attempt)
			}
			for _, one := range all {
				one.logs(attempt, log)
			}
			record.Live(run, step, attempt, c.Doing(attempt), c.Reference.Now())
			invariants.CheckObject(t, run)
			clients := c.Results(attempt)
			record.Result(run, step, attempt, clients, c.Reference.Now())
			record.Series(run, step, attempt, clients, c.Latencies(attempt))
			c.Forget(attempt)
		}
		var left []v1alpha1.DataLeft
		for _, one := range all {
			facts := one.facts()
			if facts.Connection != decide.Ready {
				record.Fail(run, decide.Failure{Reason: facts.Reason, Message: facts.Message}, now)
			}
			read := &agentapi.FinishResponse{}
			if one.codec().Unmarshal(answer, read) == nil {
				left = append(left, v1alpha1.DataLeft{Target: "data", Volume: "data", Path: "/data", Reason: finished(read).GetProblem()})
			}
		}
		record.Losses(run, c.Clients(), now)
		record.Finishing(run, now)
		record.Finished(run, left, now)
		invariants.CheckObject(t, run)
		shown(t, run)
	})
}

// reader is a client that gets messages without a connection.
type reader struct {
	*client
	sequence uint64
}

func (r *reader) codec() codec {
	return codec{maxBytes: r.maxMessage(), received: r.receive, unreadable: r.loseUnreadable}
}

func (r *reader) describes(message []byte) {
	said := &agentapi.DescribeResponse{}
	if r.codec().Unmarshal(message, said) != nil {
		return
	}
	said.RunUid, said.Target, said.Client, said.Protocol, said.LastSequence = r.owner.options.RunUID, r.key.Target, int32(r.key.Index), agentapi.Protocol, 0
	if problem := r.mismatch(said); problem != nil {
		r.unfit(problem.Reason, problem.Message)
		return
	}
	// As if the load of plausibleLog had just ended.
	r.offset = measure.ClockOffset{OffsetNanoseconds: 21e9 - r.owner.Reference.Now().UnixNano(), UncertaintyNanoseconds: 1000}
	if err := r.storeDescription(said); err != nil {
		r.lose(err.Error())
	}
}

// logs adds a log of length-prefixed messages as records of an attempt.
func (r *reader) logs(attempt decide.Attempt, log []byte) {
	for len(log) > 0 {
		message, length := protowire.ConsumeBytes(log)
		if length < 0 {
			return
		}
		log = log[length:]
		said := &agentapi.Record{}
		if r.codec().Unmarshal(message, said) != nil {
			return
		}
		r.sequence++
		said.Sequence, said.Step = r.sequence, stepKey(attempt)
		if err := r.take(said); err != nil {
			r.unfit("BadRecord", err.Error())
		}
	}
}

// runOf plans a run with two clients; kind selects one of seven phases.
func runOf(t *testing.T, kind uint8) (*v1alpha1.BenchmarkRun, plan.Plan) {
	t.Helper()
	made := builders.Benchmark("nightly").Target("data").Clients(2)
	switch kind % 7 {
	case 0:
		made.Prepare("layout").Steady("load", "5s").WarmUp("1s").Sequential()
	case 1:
		made.Throughput("10M", "50M", "1G", "").Prepare("layout").BurstDrain("drain", "10s", "60s").Redrain("again", "60s")
	case 2:
		made.Steady("load", "5s").Mutate(func(spec *v1alpha1.RunSpec) {
			spec.Workload = &v1alpha1.Workload{Engine: builders.IOR().Engine()}
		})
	case 3:
		made.Steady("load", "5s").Mutate(func(spec *v1alpha1.RunSpec) {
			spec.Workload = &v1alpha1.Workload{Engine: v1alpha1.Engine{Command: &v1alpha1.CommandProfile{Command: []string{"/bin/true"}}}}
		})
	case 4:
		made.Search("search", "99", "5ms", 5000, "10s").Mutate(func(spec *v1alpha1.RunSpec) { spec.Workload.Fio.FileSharing = v1alpha1.FilesShared })
	case 5:
		made.Target("other").Interference("beside", []string{"data"}, []string{"other"}, "10s", 1)
	case 6:
		made.Phase(v1alpha1.Phase{Name: "files", SmallFiles: &v1alpha1.SmallFilesPhase{}}).Mutate(func(spec *v1alpha1.RunSpec) {
			spec.Workload.Fio.QueueDepth, spec.Workload.Fio.FilesPerJob = nil, new(int32(256))
		})
	}
	planned, problems := plan.Make(made.Run(), 1)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return record.New(record.Identity{Name: "run", Namespace: "default", UID: "run-1", Seed: 1,
		Benchmark: v1alpha1.BenchmarkReference{Name: "nightly", UID: "benchmark-1"}, Hash: strings.Repeat("a", 64)}, made.Run(), planned), planned
}

// shown checks that a run fits into an object, and that its status contains no characters that hide or reorder text.
func shown(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	whole, err := json.Marshal(run)
	if err != nil || len(whole) > maxObjectBytes {
		t.Errorf("the run takes %d bytes, %v", len(whole), err)
	}
	status, err := json.Marshal(run.Status)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(status)))
	for {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		text, _ := token.(string)
		if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }); at >= 0 {
			t.Errorf("a text of the status cannot be shown: %q", text[at:])
		}
	}
}

func encode(tb testing.TB, message proto.Message) []byte {
	tb.Helper()
	encoded, err := proto.Marshal(message)
	if err != nil {
		tb.Fatal(err)
	}
	return encoded
}

func plausibleDescription() *agentapi.DescribeResponse {
	return &agentapi.DescribeResponse{AgentVersion: "v1",
		Tools:   []*agentapi.Tool{{Name: "fio", Version: "fio-3.42"}, {Name: "ior", Version: "IOR-4.0.0"}, {Name: "mpirun", Version: "5.0"}, {Name: "command"}},
		Volumes: []*agentapi.Volume{{Name: "data", Path: "/data", FilesystemType: "nfs4", Source: "server:/share", Options: []string{"rw", "vers=4.2"}, TotalBytes: 1 << 40, AvailableBytes: 1 << 39}},
		Host:    &agentapi.Host{Name: "node", Kernel: "6.1", Cpus: 4, MemoryBytes: 1 << 33, BootId: "a", Architecture: "amd64"}}
}

// plausibleLog returns the log of a client that wrote for 20 s. Its end record has all possible fields.
func plausibleLog(tb testing.TB) []*agentapi.Record {
	tb.Helper()
	var latency measure.Latency
	latency.AddNanoseconds(1_000_000, 20_000)
	encoded, err := latency.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	histogram, err := latency.Histogram.MarshalBinary()
	if err != nil {
		tb.Fatal(err)
	}
	const start, end = int64(1e9), int64(21e9)
	all := []*agentapi.Record{{Entry: &agentapi.Record_Started{Started: &agentapi.Started{ReleasedNanoseconds: start}}}}
	for at := start; at < end; at += 1e9 {
		all = append(all, &agentapi.Record{Entry: &agentapi.Record_Sample{Sample: &agentapi.Sample{StartNanoseconds: at, EndNanoseconds: at + 1e9,
			Counts: []*agentapi.OperationCount{{Operation: uint32(measure.Write), Bytes: 50e6, Operations: 1000, MeanLatencyMicroseconds: 1000}}}}})
	}
	space := &agentapi.Usage{Files: 1, ApparentBytes: 1 << 30, AllocatedBytes: 1 << 30, DataBytes: 1 << 30, FilesystemType: "nfs4", Compression: "Unknown", Settled: true,
		Types: []*agentapi.TypeUsage{{Files: 1, ApparentBytes: 1 << 30, AllocatedBytes: 1 << 30, DataBytes: 1 << 30}}}
	return append(all,
		&agentapi.Record{Entry: &agentapi.Record_LatencyMinute{LatencyMinute: &agentapi.LatencyMinute{StartNanoseconds: start, EndNanoseconds: end,
			Histograms: []*agentapi.OperationHistogram{{Operation: uint32(measure.Write), Histogram: histogram}}}}},
		&agentapi.Record{Entry: &agentapi.Record_Notice{Notice: &agentapi.Notice{Warning: "IOStalled", Message: "for 3 s"}}},
		&agentapi.Record{Entry: &agentapi.Record_Ended{Ended: &agentapi.Ended{Outcome: agentapi.Outcome_OUTCOME_COMPLETE, IoStartNanoseconds: start, IoEndNanoseconds: end,
			Operations:  []*agentapi.OperationResult{{Operation: uint32(measure.Write), Bytes: 1000e6, Operations: 20_000, Latency: encoded, CompletionLatency: encoded, SubmissionMeanNanoseconds: 1000}},
			ToolVersion: "fio-3.42", ToolMessages: "fine", Cpu: &agentapi.CPUUse{BusyNanoseconds: 1e9, WallNanoseconds: 20e9}, Usage: space,
			Notices: []*agentapi.Notice{{Warning: "ToolMessages", Message: "two\nlines"}}, Like: &agentapi.DataSample{Files: 1, Bytes: 1, RatioMilli: 2000, Percent: 50},
			Mpi: &agentapi.MpiResult{CommandLine: []string{"ior"}, Ranks: 2, Clients: 2, MpiVersion: "5.0", Repetitions: []*agentapi.Repetition{{Operation: uint32(measure.Write), Bytes: 1000e6, BytesExact: true,
				BytesPerSecond: 50e6, OperationsPerSecond: 50, TransferNanoseconds: 19e9, TotalNanoseconds: 20e9, EndedNanoseconds: end}}},
			Command: &agentapi.CommandResult{CommandLine: []string{"/bin/true"}, DurationNanoseconds: 20e9, Sources: []*agentapi.ByteSource{{Source: "Calls", WriteBytes: 1000e6, HasOperations: true, WriteOperations: 20_000}}},
		}}})
}

// spoilt returns a copy of a message in which one to three fields, at any depth, have values that a hostile agent may
// send.
func spoilt[M proto.Message](random *rand.Rand, message M) M {
	copied, _ := proto.Clone(message).(M)
	for range 1 + random.IntN(3) {
		at := copied.ProtoReflect()
		for {
			fields := at.Descriptor().Fields()
			field := fields.Get(random.IntN(fields.Len()))
			if whole := field.ContainingOneof(); whole != nil {
				field = at.WhichOneof(whole) // Keep the kind of the record.
			}
			switch {
			case field.IsList() && random.IntN(3) > 0:
				list := at.Mutable(field).List()
				if list.Len() > 0 && field.Message() != nil {
					at = list.Get(random.IntN(list.Len())).Message()
					continue
				}
				for range random.IntN(40) {
					list.Append(value(random, field, list.NewElement))
				}
			case field.IsList():
				at.Clear(field)
			case field.Message() != nil && at.Has(field) && random.IntN(10) > 0:
				at = at.Mutable(field).Message()
				continue
			default:
				at.Set(field, value(random, field, func() protoreflect.Value { return at.NewField(field) }))
			}
			break
		}
	}
	return copied
}

// anything fills a message with values that a hostile agent may send, extreme and plausible ones.
func anything[M proto.Message](random *rand.Rand, message M) M {
	fill(random, message.ProtoReflect())
	return message
}

func fill(random *rand.Rand, message protoreflect.Message) {
	fields := message.Descriptor().Fields()
	chosen := random.IntN(fields.Len())
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.ContainingOneof() != nil && i < chosen && i < fields.Len()-1, random.IntN(5) == 0:
		case field.IsList():
			list := message.Mutable(field).List()
			for range random.IntN([]int{2, 5, 40}[random.IntN(3)]) {
				list.Append(value(random, field, list.NewElement))
			}
		default:
			message.Set(field, value(random, field, func() protoreflect.Value { return message.NewField(field) }))
		}
	}
}

func value(random *rand.Rand, field protoreflect.FieldDescriptor, fresh func() protoreflect.Value) protoreflect.Value {
	number := []int64{0, 1, 2, 3, 1000, 1e9, 2e9, 5e9, 1 << 40, math.MaxInt64, -1, math.MinInt64, random.Int64()}[random.IntN(13)]
	switch field.Kind() {
	case protoreflect.MessageKind:
		made := fresh()
		fill(random, made.Message())
		return made
	case protoreflect.StringKind:
		texts := []string{"", "fio", "data", "Calls", "Shown", "IOStalled", "NoSpace", "ior", "a\x1b[31m\u202eb\u2028c\u200b\x00\r", strings.Repeat("\U0001F600", 3000), strings.Repeat("\n", 3000),
			strings.Repeat("w ", 20_000), `"}{%s%n` + "\ufeff"}
		return protoreflect.ValueOfString(texts[random.IntN(len(texts))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(histogramOf(random))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(random.IntN(2) == 0)
	case protoreflect.DoubleKind:
		doubles := []float64{0, 1, 1e6, 1e15, 1e300, -1, math.NaN(), math.Inf(1)}
		return protoreflect.ValueOfFloat64(doubles[random.IntN(len(doubles))])
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number % 5))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(number))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(number)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(number))
	default:
		return protoreflect.ValueOfUint64(uint64(number))
	}
}

// histogramOf returns an encoded latency or histogram, or invalid bytes.
func histogramOf(random *rand.Rand) []byte {
	var latency measure.Latency
	for range random.IntN(30) {
		latency.AddNanoseconds(random.Uint64N(1<<34), 1+random.Uint64N(1<<40))
	}
	encoded, err := latency.MarshalBinary()
	switch random.IntN(4) {
	case 0:
		encoded, err = latency.Histogram.MarshalBinary()
	case 1:
		encoded = []byte("nonsense")
	}
	if err != nil {
		return nil
	}
	return encoded
}
