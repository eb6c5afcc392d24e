package node

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"time"
)

// probeTimeout is short because all probed components run in the node.
const probeTimeout = 2 * time.Second

var probeClient = &http.Client{
	Timeout: probeTimeout,
	Transport: &http.Transport{
		DisableKeepAlives: true,
		// Probes stay in the node's own network, so certificates need no verification.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	},
}

// ready reports whether the probed component is ready.
func (p Probe) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	switch {
	case p.URL != "":
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
		if err != nil {
			return false
		}
		response, err := probeClient.Do(request)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	case p.Socket != "":
		if _, err := os.Stat(p.Socket); err != nil {
			return false
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", p.Socket)
		if err != nil {
			return false
		}
		_ = connection.Close()
		return true
	default:
		return true
	}
}
