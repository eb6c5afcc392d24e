package agent

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/mpi"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/identity"
)

// launcherMethods are the methods that only client 0 may call. Only the operator may call all other methods.
var launcherMethods = map[string]bool{
	agentapi.Agent_Launch_FullMethodName:  true,
	agentapi.Agent_Release_FullMethodName: true,
}

// maxRequestBytes is the size limit for a request. The largest is a LoadRequest with 100,000 files, the most that a
// plan allows per client: the request lists each file twice, with about 30 bytes each time. gRPC's default limit of 4
// MiB is too small.
const maxRequestBytes = 16 << 20

// accepted returns the peers that may connect to an agent: the conductor of its run, and client 0 of its own target.
func accepted(c *Config) []identity.Peer {
	peers := []identity.Peer{identity.OperatorOf(c.RunUID)}
	if c.Client != mpi.LauncherClient {
		peers = append(peers, identity.ClientOf(c.RunUID, c.Target, mpi.LauncherClient))
	}
	return peers
}

// NewServer returns the agent's server, which the caller starts and stops. Only the conductor of the agent's run and
// client 0 of its target may connect (see accepted), and each may call only its own methods.
func (a *Agent) NewServer() (*grpc.Server, error) {
	config, err := a.env.Config.Identity.ServerTLS(accepted(&a.env.Config)...)
	if err != nil {
		return nil, fmt.Errorf("read the agent's identity: %w", err)
	}
	server := grpc.NewServer(
		grpc.Creds(newBoundedCredentials(credentials.NewTLS(config))),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
			if err := authorize(ctx, info.FullMethod); err != nil {
				return nil, printableError(err)
			}
			answer, err := handle(ctx, request)
			if err != nil {
				return nil, printableError(err)
			}
			return printableCopy(answer), nil
		}),
		grpc.StreamInterceptor(func(served any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
			if err := authorize(stream.Context(), info.FullMethod); err != nil {
				return printableError(err)
			}
			return printableError(handle(served, stream))
		}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepAlive, Timeout: keepAlive}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minKeepAlive, PermitWithoutStream: true}))
	a.Register(server)
	return server, nil
}

// authorize returns an error if the caller may not call the method. The handshake has verified that the caller belongs
// to this run and target.
func authorize(ctx context.Context, method string) error {
	caller, err := tool.CallerOf(ctx)
	if err != nil {
		return status.Error(codes.PermissionDenied, err.Error())
	}
	launcher := caller.Role == identity.RoleClient
	if launcher != launcherMethods[method] {
		return status.Errorf(codes.PermissionDenied, "%s is not allowed to call %s", caller, method)
	}
	return nil
}
