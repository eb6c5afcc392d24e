package conductor

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// TestPlainly checks that users see the network's own error, without gRPC's words, while an agent does not listen
// yet.
func TestPlainly(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = agentapi.NewAgentClient(connection).Describe(t.Context(), &agentapi.DescribeRequest{})
	if said := plainly(err); !strings.HasSuffix(said, address+": connect: connection refused") || strings.Contains(said, "transport") || strings.Contains(said, `"`) {
		t.Errorf("%q of %v", said, err)
	}
}
