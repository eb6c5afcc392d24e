package conductor

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/storagebench/storagebench/internal/agentapi"
)

func anySize(int) error { return nil }

// TestCodecDropsUnknownFields checks that only unknown fields are dropped, at every level of a message.
func TestCodecDropsUnknownFields(t *testing.T) {
	t.Parallel()
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 9999, protowire.BytesType), make([]byte, 1000))
	for _, known := range []proto.Message{
		&agentapi.DescribeResponse{RunUid: "a", Tools: []*agentapi.Tool{{Name: "fio"}}, Volumes: []*agentapi.Volume{{Name: "data", Options: []string{"rw"}}},
			Host: &agentapi.Host{Cpus: 3}, Steps: []*agentapi.StepStatus{{Step: &agentapi.StepKey{Id: "1"}, State: 2}}},
		&agentapi.Record{Sequence: 3, Entry: &agentapi.Record_Ended{Ended: &agentapi.Ended{Reason: "x", Cpu: &agentapi.CPUUse{Periods: 3},
			Operations: []*agentapi.OperationResult{{Latency: []byte("h")}}, Notices: []*agentapi.Notice{{Message: "n"}},
			Mpi:   &agentapi.MpiResult{Repetitions: []*agentapi.Repetition{{Bytes: 1}}, Rates: []*agentapi.MdtestRate{{MaxOperationsPerSecond: 1}}},
			Usage: &agentapi.Usage{Types: []*agentapi.TypeUsage{{Files: 1}}}, Like: &agentapi.DataSample{Files: 1},
			Command: &agentapi.CommandResult{Sources: []*agentapi.ByteSource{{Source: "Calls"}}}}}},
		&agentapi.FinishResponse{LeftStays: []string{"a"}},
	} {
		dirty := proto.Clone(known)
		each(dirty.ProtoReflect(), func(message protoreflect.Message) { message.SetUnknown(unknown) })
		encoded, err := proto.Marshal(dirty)
		if err != nil {
			t.Fatal(err)
		}
		read := known.ProtoReflect().New().Interface()
		strict := codec{maxBytes: maxMessageBytes, received: anySize, unreadable: func(err error) { t.Error(err) }}
		if err := strict.Unmarshal(encoded, read); err != nil || !proto.Equal(read, known) {
			t.Errorf("read %v, %v", read, err)
		}
		each(read.ProtoReflect(), func(message protoreflect.Message) {
			if len(message.GetUnknown()) > 0 {
				t.Errorf("%s has unknown fields", message.Descriptor().FullName())
			}
		})
	}
}

// each calls visit for a message and all messages in it.
func each(message protoreflect.Message, visit func(protoreflect.Message)) {
	visit(message)
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				each(value.List().Get(i).Message(), visit)
			}
		default:
			each(value.Message(), visit)
		}
		return true
	})
}

// TestCodecRefuses checks that a message is refused before it is decoded if it is invalid, or small on the wire but
// large in memory.
func TestCodecRefuses(t *testing.T) {
	t.Parallel()
	crowd, err := proto.Marshal(&agentapi.DescribeResponse{Steps: make([]*agentapi.StepStatus, 100_000)})
	if err != nil {
		t.Fatal(err)
	}
	for words, data := range map[string][]byte{
		"a message of 200000 bytes needs 27.56 MiB of memory: the limit is 4 MiB": crowd,
		"unexpected EOF":       {0x0a, 0xff},
		"invalid field number": {0x00},
	} {
		told := 0
		read := &agentapi.DescribeResponse{}
		err := codec{maxBytes: maxMessageBytes, received: anySize, unreadable: func(error) { told++ }}.Unmarshal(data, read)
		if err == nil || !strings.Contains(err.Error(), words) || told != 1 || len(read.GetSteps()) > 0 {
			t.Errorf("%v, want %q; told %d times", err, words, told)
		}
	}
}

// TestCodecReadsAllRepetitions checks that a result with the maximum number of IOR repetitions is accepted.
func TestCodecReadsAllRepetitions(t *testing.T) {
	t.Parallel()
	told := &agentapi.MpiResult{}
	for i := range maxRepetitions {
		told.Repetitions = append(told.Repetitions, &agentapi.Repetition{Operation: 1, Index: int32(i), Bytes: 1 << 50, BytesExact: true, BytesPerSecond: 1.5,
			OperationsPerSecond: 1.5, OpenNanoseconds: 1 << 50, TransferNanoseconds: 1 << 50, CloseNanoseconds: 1 << 50, TotalNanoseconds: 1 << 50, EndedNanoseconds: 1 << 60})
	}
	record := &agentapi.Record{Entry: &agentapi.Record_Ended{Ended: &agentapi.Ended{Mpi: told}}}
	encoded, err := proto.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	most := maxMessageBytes + maxRepetitions*maxRepetitionBytes
	if len(encoded) > most {
		t.Errorf("it takes %d bytes, and %d are received", len(encoded), most)
	}
	if err := (codec{maxBytes: most, received: anySize, unreadable: func(error) {}}).Unmarshal(encoded, &agentapi.Record{}); err != nil {
		t.Error(err)
	}
}
