package agent

import (
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/storagebench/storagebench/internal/identity"
)

const (
	// maxStrangers limits the number of unauthenticated connections; maxPerPeer limits the number of connections of each
	// authenticated peer.
	maxStrangers, maxPerPeer = 64, 16
	// handshakeTimeout limits how long a connection may take to authenticate. It is long because clients under load
	// respond slowly.
	handshakeTimeout = 30 * time.Second
)

// boundedCredentials limits the number of connections to a server. One limit applies to all unauthenticated connections
// together, another to the connections of each authenticated peer. When a limit is exceeded, boundedCredentials closes
// the oldest connection that counts towards it. So unauthenticated connections cannot keep out an authenticated peer,
// and no peer can keep out another.
type boundedCredentials struct {
	credentials.TransportCredentials

	mu sync.Mutex
	// open holds the connections of each peer, oldest first. Unauthenticated connections have the zero Peer.
	open map[identity.Peer][]net.Conn
}

func newBoundedCredentials(inner credentials.TransportCredentials) *boundedCredentials {
	return &boundedCredentials{TransportCredentials: inner, open: map[identity.Peer][]net.Conn{}}
}

// ServerHandshake implements credentials.TransportCredentials.
func (b *boundedCredentials) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	leave := b.enter(identity.Peer{}, maxStrangers, raw)
	secure, info, err := b.TransportCredentials.ServerHandshake(raw)
	leave()
	if err != nil {
		return nil, nil, err
	}
	var caller identity.Peer
	if proven, ok := info.(credentials.TLSInfo); ok {
		if caller, err = identity.PeerRole(proven.State); err != nil {
			_ = secure.Close()
			return nil, nil, err
		}
	}
	return &boundedConnection{Conn: secure, leave: b.enter(caller, maxPerPeer, raw)}, info, nil
}

// enter adds a connection of a peer; leave removes it.
func (b *boundedCredentials) enter(who identity.Peer, most int, raw net.Conn) (leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.open[who]) >= most {
		_ = b.open[who][0].Close()
		b.open[who] = slices.Delete(b.open[who], 0, 1)
	}
	b.open[who] = append(b.open[who], raw)
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open[who] = slices.DeleteFunc(b.open[who], func(one net.Conn) bool { return one == raw })
		if len(b.open[who]) == 0 {
			delete(b.open, who)
		}
	})
}

// boundedConnection stops counting towards its limit when it is closed.
type boundedConnection struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *boundedConnection) Close() error {
	c.leave()
	return c.Conn.Close()
}
