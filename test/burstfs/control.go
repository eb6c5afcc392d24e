package burstfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// Verb is a request to a store in another process.
type Verb string

// Requests to a store.
const (
	// Set changes the store to the configuration in the request, as [FS.Set] does. The change is complete when the answer
	// arrives.
	Set Verb = "set"
	// Truth returns the store's record up to the last complete second, as CSV.
	Truth Verb = "truth"
	// End unmounts the store and ends its process. The connection closes when the process has ended.
	End Verb = "end"
)

const (
	answerWithin = 10 * time.Second
	answeredWell = "ok\n"
)

// Ask sends a request to the store that serves a socket (see [FS.Control]) and returns its answer. It returns an error
// if the store refuses the request or does not exist.
func Ask(socket string, verb Verb, question []byte) ([]byte, error) {
	connection, err := net.DialTimeout("unix", socket, answerWithin)
	if err != nil {
		return nil, fmt.Errorf("asking the store: %w", err)
	}
	defer connection.Close() //nolint:errcheck // everything needed has been read
	unix := connection.(*net.UnixConn)
	answer, err := func() ([]byte, error) {
		if err := unix.SetDeadline(time.Now().Add(answerWithin)); err != nil {
			return nil, err
		}
		if _, err := unix.Write(append([]byte(verb+"\n"), question...)); err != nil {
			return nil, err
		}
		if err := unix.CloseWrite(); err != nil {
			return nil, err
		}
		return io.ReadAll(unix)
	}()
	if err != nil {
		return nil, fmt.Errorf("asking the store to %s: %w", verb, err)
	}
	answer, well := bytes.CutPrefix(answer, []byte(answeredWell))
	if !well {
		return nil, fmt.Errorf("asking the store to %s: it answers %q", verb, answer)
	}
	return answer, nil
}

// Control serves requests of [Ask] on a socket until the context ends. When a request has ended the store, Control
// calls end, which should end the process.
func (f *FS) Control(ctx context.Context, socket string, end func()) error {
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("making way for the socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listening for questions: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		connection, err := listener.Accept()
		if err != nil && ctx.Err() != nil {
			return nil //nolint:nilerr // the end of the context has closed it
		}
		if err != nil {
			return fmt.Errorf("waiting for questions: %w", err)
		}
		if f.answer(connection) == End {
			end() // which closes the connection
			continue
		}
		_ = connection.Close() // the caller has the answer or is gone
	}
}

func (f *FS) answer(connection net.Conn) Verb {
	_ = connection.SetDeadline(time.Now().Add(answerWithin))
	question, err := io.ReadAll(connection)
	if err != nil {
		return ""
	}
	verb, rest, _ := strings.Cut(string(question), "\n")
	var answer bytes.Buffer
	answer.WriteString(answeredWell)
	switch Verb(verb) {
	case Set:
		config, parsed := Parse([]byte(rest))
		if err = parsed; err == nil {
			err = f.Set(config)
		}
	case Truth:
		var truth *TruthWriter
		if truth, err = NewTruthWriter(&answer, f.Config()); err == nil {
			err = truth.Write(f)
		}
	case End:
		err = f.Close()
	default:
		err = fmt.Errorf("there is no question %q", verb)
	}
	if err != nil {
		answer.Reset()
		fmt.Fprintf(&answer, "%v", err)
	}
	_, _ = connection.Write(answer.Bytes()) // as above: the caller may be gone
	return Verb(verb)
}
