package conductor

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits for messages from agents.
const (
	// maxMessageBytes is the size limit for a message without IOR repetitions. It is enough for a result with eight
	// histograms of 20 kB and the tool's messages. Each allowed repetition adds maxRepetitionBytes.
	maxMessageBytes    = 512 << 10
	maxRepetitionBytes = 96
	// maxHeaderBytes is the size limit for headers. It is enough for the error of a refused command.
	maxHeaderBytes = 64 << 10
	// maxGrowth limits the memory of a decoded message, as a multiple of the maximum encoded size.
	maxGrowth = 8
	// messageBytes is the approximate memory of a decoded message, and fieldBytes the approximate memory of a string or
	// a list element, both without their content.
	messageBytes = 256
	fieldBytes   = 32
)

// codec is the protobuf codec for agents. It drops unknown fields, also in nested messages, because they would use
// memory as long as the message is kept. It refuses messages that need too much memory when decoded. Even a message of
// acceptable size can need too much, because an empty list element takes only two bytes on the wire.
type codec struct {
	maxBytes int
	// received is called with the size of each message before unknown fields are dropped. If it returns an error, the
	// message is refused.
	received func(bytes int) error
	// unreadable is called with the reason before a message is refused.
	unreadable func(err error)
}

// Name implements encoding.Codec.
func (codec) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (codec) Marshal(message any) ([]byte, error) {
	known, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a protobuf message", message)
	}
	return proto.Marshal(known)
}

// Unmarshal implements encoding.Codec.
func (c codec) Unmarshal(data []byte, message any) error {
	known, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a protobuf message", message)
	}
	if err := c.received(len(data)); err != nil {
		return err
	}
	memory, err := memoryOf(data, known.ProtoReflect().Descriptor())
	if most := maxGrowth * c.maxBytes; err == nil && memory > most {
		err = fmt.Errorf("a message of %d bytes needs %s of memory: the limit is %s",
			len(data), mebibytes(int64(memory)), mebibytes(int64(most)))
	}
	if err == nil {
		err = proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, known)
	}
	if err != nil {
		c.unreadable(err)
	}
	return err
}

// lateCodec is the codec of one call whose request can be large. It ignores the request that the caller passes, and
// builds the actual request only when gRPC encodes it. gRPC does that only once the connection can send.
type lateCodec struct {
	codec
	build func() proto.Message
}

// building is held while a request is built and encoded, so that the process has at most one large request in memory,
// in addition to the encoded requests that gRPC is sending.
var building sync.Mutex

// Marshal implements encoding.Codec.
func (c lateCodec) Marshal(any) ([]byte, error) {
	building.Lock()
	defer building.Unlock()
	return proto.Marshal(c.build())
}

// memoryOf estimates the memory, in bytes, that an encoded message takes once it is decoded without unknown fields.
func memoryOf(data []byte, message protoreflect.MessageDescriptor) (int, error) {
	memory := messageBytes
	for len(data) > 0 {
		number, wire, length := protowire.ConsumeTag(data)
		if length < 0 {
			return 0, protowire.ParseError(length)
		}
		data = data[length:]
		if length = protowire.ConsumeFieldValue(number, wire, data); length < 0 {
			return 0, protowire.ParseError(length)
		}
		if field := message.Fields().ByNumber(number); field != nil && wire == protowire.BytesType {
			memory += fieldBytes + length
			if inner := field.Message(); inner != nil {
				content, _ := protowire.ConsumeBytes(data)
				nested, err := memoryOf(content, inner)
				if err != nil {
					return 0, err
				}
				memory += nested
			}
		}
		data = data[length:]
	}
	return memory, nil
}

// keptBytes estimates the memory, in bytes, of a message that was decoded by codec.
func keptBytes(message proto.Message) int {
	encoded, err := proto.Marshal(message)
	if err != nil {
		return 0
	}
	memory, err := memoryOf(encoded, message.ProtoReflect().Descriptor())
	if err != nil {
		return 0
	}
	return memory
}
