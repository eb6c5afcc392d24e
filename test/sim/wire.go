package sim

import (
	"net"
	"sync"
	"time"
)

// wireDelay is the delay of a message. Without it, an operator that sends a request as soon as the previous one is
// answered would do so forever at the same instant of virtual time.
const wireDelay = 200 * time.Microsecond

// slowConn is a connection that delays messages. They wait in a queue and not in Write, because callers of Write hold
// locks, and in a synctest bubble no time passes while a goroutine waits for a lock.
type slowConn struct {
	net.Conn
	// from is the address of the other end.
	from   net.Addr
	sent   chan message
	closed chan struct{}
	once   sync.Once
}

type message struct {
	data []byte
	due  time.Time
}

func slow(fast net.Conn) *slowConn {
	c := &slowConn{Conn: fast, sent: make(chan message, 1<<12), closed: make(chan struct{})}
	go c.deliver()
	return c
}

func (c *slowConn) deliver() {
	for {
		select {
		case m := <-c.sent:
			time.Sleep(time.Until(m.due))
			if _, err := c.Conn.Write(m.data); err != nil {
				return
			}
		case <-c.closed:
			return
		}
	}
}

// Write implements net.Conn.
func (c *slowConn) Write(b []byte) (int, error) {
	select {
	case <-c.closed:
		return 0, net.ErrClosed
	case c.sent <- message{data: append([]byte(nil), b...), due: time.Now().Add(wireDelay)}:
		return len(b), nil
	}
}

// Close implements net.Conn.
func (c *slowConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// RemoteAddr implements net.Conn.
func (c *slowConn) RemoteAddr() net.Addr { return c.from }

// slowListener accepts slowConns. It receives the address of each caller from callers.
type slowListener struct {
	net.Listener
	callers <-chan net.Addr
}

// Accept implements net.Listener.
func (l slowListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := slow(accepted)
	c.from = <-l.callers
	return c, nil
}
