package agent

import (
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/storagebench/storagebench/internal/agent/tool"
)

// printableError makes an error's message printable. Its code and details are kept.
func printableError(err error) error {
	if err == nil {
		return nil
	}
	answer, ok := status.FromError(err)
	if !ok {
		answer = status.FromContextError(err)
	}
	made := answer.Proto()
	made.Message = tool.Printable(made.GetMessage())
	return status.ErrorProto(made)
}

// printableCopy returns a copy of a response in which all strings are printable. It does not change the original,
// because responses share cached parts.
func printableCopy(answer any) any {
	message, ok := answer.(proto.Message)
	if !ok || !message.ProtoReflect().IsValid() {
		return answer
	}
	made := proto.Clone(message)
	mend(made)
	return made
}

// mend makes all strings in a message printable.
func mend(message proto.Message) {
	// Ignore the error of Range: only the callback could return an error, and it never does.
	_ = protorange.Range(message.ProtoReflect(), func(path protopath.Values) error {
		last := path.Index(-1)
		text, ok := last.Value.Interface().(string)
		if !ok {
			return nil
		}
		made := tool.Printable(text)
		if made == text {
			return nil
		}
		holder := path.Index(-2).Value
		switch last.Step.Kind() {
		case protopath.FieldAccessStep:
			holder.Message().Set(last.Step.FieldDescriptor(), protoreflect.ValueOfString(made))
		case protopath.ListIndexStep:
			holder.List().Set(last.Step.ListIndex(), protoreflect.ValueOfString(made))
		default: // Maps of strings are not handled, because no message of the protocol contains one.
		}
		return nil
	})
}
