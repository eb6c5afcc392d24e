package tool

import (
	"context"
	"fmt"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/storagebench/storagebench/internal/identity"
)

// CallerOf returns the identity of the peer that has called the agent, as stated in the certificate of its connection.
func CallerOf(ctx context.Context) (identity.Peer, error) {
	connection, ok := peer.FromContext(ctx)
	if !ok {
		return identity.Peer{}, fmt.Errorf("the call has no information about its peer: %w", identity.ErrWrongPeer)
	}
	info, ok := connection.AuthInfo.(credentials.TLSInfo)
	if !ok {
		return identity.Peer{}, fmt.Errorf("the caller did not use TLS: %w", identity.ErrWrongPeer)
	}
	return identity.PeerRole(info.State)
}
