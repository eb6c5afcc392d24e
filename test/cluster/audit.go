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

// maxAuditLine is an upper limit of the size of an event in bytes. Events contain no objects, so they are small.
const maxAuditLine = 1 << 20

// Audit calls show with each request that a user has sent to the API server since the cluster was started, oldest
// first. The log contains only requests by service accounts outside of kube-system, and no request or response bodies.
//
// A watch is shown twice: when it begins and when it ends.
func (s State) Audit(user string, show func(auditv1.Event)) error {
	// The API server rotates a long log: it adds the time to the file's name and begins a new file.
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
			// An API server that was killed may have left an incomplete last line.
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
