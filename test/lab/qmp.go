package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// quit reads QEMU's counters of each disk with QMP (docs/interop/qmp-spec of QEMU), and then ends QEMU.
func quit(ctx context.Context, socket string, disks int) ([]Counters, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("reach QEMU: %w", err)
	}
	defer func() { _ = connection.Close() }()
	answers, requests := json.NewDecoder(connection), json.NewEncoder(connection)
	call := func(command string, into any) error {
		if err := requests.Encode(map[string]string{"execute": command}); err != nil {
			return fmt.Errorf("ask QEMU to %s: %w", command, err)
		}
		for {
			var answer struct {
				Return json.RawMessage
				Error  *struct{ Desc string }
			}
			if err := answers.Decode(&answer); err != nil {
				return fmt.Errorf("QEMU's answer to %s: %w", command, err)
			}
			switch {
			case answer.Error != nil:
				return fmt.Errorf("QEMU refuses %s: %s", command, answer.Error.Desc)
			case answer.Return == nil: // the greeting, or an event
			case into == nil:
				return nil
			default:
				return json.Unmarshal(answer.Return, into)
			}
		}
	}
	var blocks []struct {
		Device string
		Stats  struct {
			ReadBytes       int64 `json:"rd_bytes"`
			WriteBytes      int64 `json:"wr_bytes"`
			ReadOperations  int64 `json:"rd_operations"`
			WriteOperations int64 `json:"wr_operations"`
		}
	}
	if err := call("qmp_capabilities", nil); err != nil {
		return nil, err
	}
	if err := call("query-blockstats", &blocks); err != nil {
		return nil, err
	}
	found := make([]Counters, disks)
	for _, block := range blocks {
		number, is := strings.CutPrefix(block.Device, "disk")
		if i, err := strconv.Atoi(number); is && err == nil && i < disks {
			found[i] = Counters(block.Stats)
		}
	}
	return found, call("quit", nil)
}
