package agent

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
	"github.com/storagebench/storagebench/test/hang"
)

// TestConnectionsAreBounded checks that too many connections, of unidentified peers or of client 0, do not keep out the
// operator.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	j := idleJob(t, 2, 1)
	member, address := j.clients[1], j.addresses[1]
	describe := func() {
		t.Helper()
		if _, err := member.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1}); err != nil {
			t.Errorf("the operator: %v", err)
		}
	}
	describe()
	const more = 5
	var closed atomic.Int32
	for range maxStrangers + more {
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		must(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		go func() {
			_, _ = connection.Read(make([]byte, 1))
			closed.Add(1)
		}()
	}
	// Handshakes begin in any order: those of client 0 must not be closed as the oldest.
	hang.Until(t, "the agent has closed connections for the last", func() bool { return closed.Load() >= more })
	first, err := authority().Client("target", 0)
	must(t, err)
	for range maxPerPeer + more {
		client := agentapi.NewAgentClient(dialAs(t, first, identity.ClientOf(runUID, "target", 1), address))
		if _, err := client.Release(t.Context(), &agentapi.ReleaseRequest{}); err != nil {
			t.Errorf("client 0: %v", err)
		}
	}
	describe()
	fresh := agentapi.NewAgentClient(dialAs(t, mustOperator(t), identity.ClientOf(runUID, "target", 1), address))
	if _, err := fresh.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1}); err != nil {
		t.Errorf("an operator that comes later: %v", err)
	}
}

// listening is a stand-in for TLS whose handshakes last as long as their connections. It reports each handshake that
// begins.
type listening struct {
	credentials.TransportCredentials

	begun chan net.Conn
}

func (l listening) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	l.begun <- raw
	_, err := io.Copy(io.Discard, raw)
	return nil, nil, errors.Join(err, io.EOF)
}

// TestOldestStrangerIsClosed checks that, beyond the limit, a new connection without an identity closes the oldest such
// connection, and never one of an identified peer.
func TestOldestStrangerIsClosed(t *testing.T) {
	t.Parallel()
	inner := listening{begun: make(chan net.Conn)}
	bounded := newBoundedCredentials(inner)
	pair := func() (near, far net.Conn) {
		near, far = net.Pipe()
		t.Cleanup(func() { _ = near.Close() })
		t.Cleanup(func() { _ = far.Close() })
		return near, far
	}
	open := func(far net.Conn) bool {
		_, err := far.Write([]byte{0}) // the other side reads while it is open
		return err == nil
	}
	operator, operatorFar := pair()
	go func() { _, _ = io.Copy(io.Discard, operator) }()
	bounded.enter(identity.OperatorOf(runUID), maxPerPeer, operator)
	var far []net.Conn
	for range maxStrangers + 2 {
		one, other := pair()
		go func() { _, _, _ = bounded.ServerHandshake(one) }()
		<-inner.begun
		far = append(far, other)
	}
	for i, one := range far {
		if is := open(one); is != (i >= 2) {
			t.Errorf("connection %d of %d without an identity: open is %t", i, len(far), is)
		}
	}
	if !open(operatorFar) {
		t.Error("the operator's connection is closed")
	}
	client := identity.ClientOf(runUID, "target", 0)
	for i := range maxPerPeer + 1 {
		one, _ := pair()
		bounded.enter(client, maxPerPeer, one)
		if got := len(bounded.open[client]); got != min(i+1, maxPerPeer) {
			t.Errorf("%d connections of a client are kept of %d", got, i+1)
		}
	}
}

// watched is a listener that reports the first deadline of its connections.
type watched struct {
	net.Listener

	deadlines chan time.Time
}

func (w watched) Accept() (net.Conn, error) {
	connection, err := w.Listener.Accept()
	return watchedConnection{connection, w.deadlines}, err
}

type watchedConnection struct {
	net.Conn

	deadlines chan time.Time
}

func (c watchedConnection) SetDeadline(at time.Time) error {
	select {
	case c.deadlines <- at:
	default:
	}
	return c.Conn.SetDeadline(at)
}

// TestHandshakesEnd checks that a peer must prove its identity within a limited time.
func TestHandshakesEnd(t *testing.T) {
	t.Parallel()
	server, err := serve(t, nil).agent.NewServer()
	must(t, err)
	t.Cleanup(server.Stop)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	deadlines := make(chan time.Time, 1)
	go func() { _ = server.Serve(watched{listener, deadlines}) }()
	silent, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	deadline := <-deadlines
	if latest := time.Now().Add(handshakeTimeout); deadline.IsZero() || deadline.After(latest) {
		t.Errorf("the handshake may last until %s, want at most until %s", deadline, latest)
	}
}

func mustOperator(t *testing.T) identity.Bundle {
	t.Helper()
	operator, err := authority().Operator()
	must(t, err)
	return operator
}

// TestTextsThatLeaveArePrintable checks that all texts from the agent are printable, whatever a path or a request
// contains, and that errors keep their reasons.
func TestTextsThatLeaveArePrintable(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Config.Volumes[0].Path = "/none/\xff\x1b[31m\u202e" })
	good := func(what, text string) {
		t.Helper()
		if text == "" || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s: %q", what, text)
		}
	}
	_, err := r.Load(t.Context(), request("a", quickWrite))
	if reasonIn(err) != tool.ReasonMissing {
		t.Errorf("its reason is lost: %v", err)
	}
	good("refusal", status.Convert(err).Message())
	_, err = r.Start(t.Context(), &agentapi.StartRequest{Epoch: 1, Step: key("a\x1b[2J")})
	if status.Code(err) != codes.NotFound {
		t.Errorf("got %v", err)
	}
	good("unknown step", status.Convert(err).Message())
	j := idleJob(t, 2, 1)
	first, err := authority().Client("target", 0)
	must(t, err)
	stream, err := agentapi.NewAgentClient(dialAs(t, first, identity.ClientOf(runUID, "target", 1), j.addresses[1])).
		Launch(t.Context(), &agentapi.LaunchRequest{Step: key("a\x1b[2J"), Command: daemonOf("127.0.0.1")})
	must(t, err)
	if _, err = stream.Recv(); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("got %v", err)
	}
	good("launch of an unknown step", status.Convert(err).Message())
	described, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	good("volume", described.GetVolumes()[0].GetProblem())
	good("problem", r.finish(true).GetProblem())
	good("last words", r.agent.leftData().Error())
}
