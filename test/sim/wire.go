package sim

import (
	"net"
	"time"
)

// wireDelay is how long a message takes. Without any, an operator that asks again as soon as it is answered would ask
// for ever in the same instant.
const wireDelay = 200 * time.Microsecond

// slowConn is a connection whose messages take their time.
type slowConn struct{ net.Conn }

func (c slowConn) Write(b []byte) (int, error) {
	time.Sleep(wireDelay)
	return c.Conn.Write(b)
}

// slowListener is a listener of such connections.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return slowConn{accepted}, nil
}
