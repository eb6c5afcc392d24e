package agent

import (
	"strings"
	"unicode"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// printable returns a text as valid UTF-8 without control characters except newline and tab. File names and output
// of tools can contain arbitrary bytes.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r) && !unicode.IsControl(r):
			return ' '
		}
		return -1
	}, text)
}

// printableError makes an error's message printable. Its code and details are kept.
func printableError(err error) error {
	if err == nil {
		return nil
	}
	said, ok := status.FromError(err)
	if !ok {
		said = status.FromContextError(err)
	}
	made := said.Proto()
	made.Message = printable(made.GetMessage())
	return status.ErrorProto(made)
}

// printableCopy returns a copy of a response with printable texts. It copies because responses share cached parts.
func printableCopy(answer any) any {
	message, ok := answer.(proto.Message)
	if !ok || !message.ProtoReflect().IsValid() {
		return answer
	}
	made := proto.Clone(message)
	mend(made)
	return made
}

// mend makes all texts of a message printable.
func mend(message proto.Message) {
	// The callback never returns an error.
	_ = protorange.Range(message.ProtoReflect(), func(path protopath.Values) error {
		last := path.Index(-1)
		text, ok := last.Value.Interface().(string)
		if !ok {
			return nil
		}
		made := printable(text)
		if made == text {
			return nil
		}
		holder := path.Index(-2).Value
		switch last.Step.Kind() {
		case protopath.FieldAccessStep:
			holder.Message().Set(last.Step.FieldDescriptor(), protoreflect.ValueOfString(made))
		case protopath.ListIndexStep:
			holder.List().Set(last.Step.ListIndex(), protoreflect.ValueOfString(made))
		default: // No message has a map of texts.
		}
		return nil
	})
}
