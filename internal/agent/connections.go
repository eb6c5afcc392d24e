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
	// maxStrangers limits the connections that have not proven an identity; maxPerPeer limits the connections of one
	// identified peer.
	maxStrangers, maxPerPeer = 64, 16
	// handshakeTimeout bounds the time in which a connection must prove its identity. It is long because clients under
	// load are slow.
	handshakeTimeout = 30 * time.Second
)

// boundedCredentials limits the connections of a server. When a limit is exceeded, it closes the oldest connection
// of that kind (unidentified, or of that peer). So unidentified connections cannot keep out an identified peer, and
// no peer can keep out another.
type boundedCredentials struct {
	credentials.TransportCredentials

	mu sync.Mutex
	// open holds the connections of each peer, oldest first; unidentified connections have the zero Peer.
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

// boundedConnection frees its slot when it is closed.
type boundedConnection struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *boundedConnection) Close() error {
	c.leave()
	return c.Conn.Close()
}
