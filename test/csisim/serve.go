package csisim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// Socket returns the path of a driver's socket.
func Socket(homeFolder, driver string) string {
	return filepath.Join(Folder(homeFolder, driver), "csi.sock")
}

// Serve answers on the driver's socket until the context ends. It calls ready once the driver can be reached.
func (d *Driver) Serve(ctx context.Context, ready func()) error {
	server := grpc.NewServer(grpc.UnaryInterceptor(d.report))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	csi.RegisterNodeServer(server, d)
	return serve(ctx, server, Socket(d.Home, d.Name), ready)
}

// report logs failed calls and gives errors without a gRPC code one.
func (d *Driver) report(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	response, err := handle(ctx, request)
	if err == nil {
		d.Log.Debug("Answering", "driver", d.Name, "method", info.FullMethod)
		return response, nil
	}
	d.Log.Warn("Refusing or failing", "driver", d.Name, "method", info.FullMethod, "error", err)
	// errors.Join returns an error without a code of its own.
	var coded interface{ GRPCStatus() *status.Status }
	if errors.As(err, &coded) {
		return nil, status.Error(coded.GRPCStatus().Code(), err.Error())
	}
	return nil, status.Error(codes.Internal, err.Error())
}

func serve(ctx context.Context, server *grpc.Server, socket string, ready func()) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return fmt.Errorf("making the folder of a socket: %w", err)
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("making way for a socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	stop := context.AfterFunc(ctx, server.GracefulStop)
	defer stop()
	if ready != nil {
		ready()
	}
	if err := server.Serve(listener); err != nil {
		return fmt.Errorf("serving %s: %w", socket, err)
	}
	return nil
}

// registrar registers a driver with the kubelet.
type registrar struct {
	registration.UnimplementedRegistrationServer
	driver *Driver
}

// GetInfo tells the kubelet where the driver answers.
func (r registrar) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: r.driver.Name, Endpoint: Socket(r.driver.Home, r.driver.Name),
		SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus receives the kubelet's answer to the registration.
func (r registrar) NotifyRegistrationStatus(_ context.Context, s *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if s.GetPluginRegistered() {
		r.driver.Log.Info("Serving the kubelet", "driver", r.driver.Name)
	} else {
		r.driver.Log.Error("The kubelet refuses the driver", "driver", r.driver.Name, "error", s.GetError())
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// Register registers the driver with the kubelet that watches a directory, until the context ends.
func (d *Driver) Register(ctx context.Context, folder string) error {
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, registrar{driver: d})
	return serve(ctx, server, filepath.Join(folder, d.Name+"-reg.sock"), nil)
}
