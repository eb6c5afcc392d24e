package cluster

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// maxAuditLine is more than one event takes: it holds no objects.
const maxAuditLine = 1 << 20

// Audit shows what a user has asked of the API server since the cluster was started, the oldest first. Only accounts
// of pods are recorded, and of what they sent and got only who, what, when and the outcome.
//
// A watch is shown when it begins, and again when it ends.
func (s State) Audit(user string, show func(auditv1.Event)) error {
	// A log that has become long is set aside, with the time in its name, and another one is begun.
	path := s.outside(nodeAuditLog)
	aside, err := filepath.Glob(strings.TrimSuffix(path, ".log") + "-*.log")
	if err != nil {
		return fmt.Errorf("finding the audit logs: %w", err)
	}
	slices.Sort(aside)
	for _, name := range append(aside, path) {
		if err := auditOf(name, user, show); err != nil {
			return err
		}
	}
	return nil
}

func auditOf(path, user string, show func(auditv1.Event)) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxAuditLine)
	for lines.Scan() {
		var event auditv1.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			// The last line of an API server that was killed in the middle of it.
			continue
		}
		if event.User.Username == user {
			show(event)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}
