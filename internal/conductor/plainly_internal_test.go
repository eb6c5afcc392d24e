package conductor

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/storagebench/storagebench/internal/agentapi"
)

// TestPlainly checks that the message for an agent that does not listen yet contains the network error without gRPC's
// wording.
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
