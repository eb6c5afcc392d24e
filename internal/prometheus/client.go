package prometheus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/storagebench/storagebench/internal/observation"
)

const (
	// maxAnswerBytes limits the size of one answer: 80 series of 10,000 points.
	maxAnswerBytes = 32 << 20
	// queryTimeout limits the duration of one query.
	queryTimeout = 10 * time.Second
	// askedSeries is the number of series that the server is asked for; some servers ignore it.
	askedSeries = 200
	// DefaultInterval is the default scrape interval.
	DefaultInterval = 15 * time.Second
)

// Config describes the Prometheus to ask.
type Config struct {
	// URL is the address, up to but not including /api/v1.
	URL string
	// TokenFile is a file with a bearer token, read for each request, and CAFile a file with the CA certificates that
	// verify the server's certificate. Both may be empty.
	TokenFile, CAFile string
	// NamespaceParameter is the URL parameter that carries the namespace of the run, for a proxy that enforces it; empty
	// for none.
	NamespaceParameter string
	// Interval is the interval at which the queried series are scraped.
	Interval time.Duration
}

// Client asks a Prometheus for one namespace.
type Client struct {
	api promv1.API
}

// New returns a client for the runs of a namespace. It does not connect yet.
func New(config Config, namespace string) (*Client, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // It is one.
	if config.CAFile != "" {
		authorities, err := os.ReadFile(config.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the CA certificates for Prometheus: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("%s has no PEM certificate", config.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	requests := &requester{config: config, namespace: namespace, next: transport}
	client, err := api.NewClient(api.Config{Address: config.URL, Client: &http.Client{
		Transport:     requests,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return nil, fmt.Errorf("prepare the requests to Prometheus: %w", err)
	}
	return &Client{api: promv1.NewAPI(client)}, nil
}

// Check returns an error if the configuration cannot work.
func (c *Config) Check() error {
	at, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return errors.New("the URL of Prometheus cannot be parsed: use http://HOST:PORT or https://HOST:PORT, with a path if there is one")
	case at.User != nil:
		return errors.New("the URL of Prometheus has a user or a password, which process lists show: use a file with a bearer token")
	case at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return fmt.Errorf("the URL of Prometheus is %q: use http://HOST:PORT or https://HOST:PORT, with a path if there is one", c.URL)
	case at.RawQuery != "" || at.Fragment != "":
		return fmt.Errorf("the URL of Prometheus is %q: remove everything from ? or # on", c.URL)
	case c.Interval < time.Second || c.Interval > time.Hour:
		return fmt.Errorf("the scrape interval is %s: must be from 1s to 1h", c.Interval)
	}
	return nil
}

// requester adds the token and the namespace to requests, and bounds answers.
type requester struct {
	config    Config
	namespace string
	next      http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r *requester) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	if r.config.TokenFile != "" {
		token, err := os.ReadFile(r.config.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token for Prometheus: %w", err)
		}
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	if r.config.NamespaceParameter != "" {
		query := request.URL.Query()
		query.Set(r.config.NamespaceParameter, r.namespace)
		request.URL.RawQuery = query.Encode()
	}
	answer, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Body = &bounded{ReadCloser: answer.Body, left: maxAnswerBytes}
	return answer, nil
}

// bounded fails once more was read than allowed.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer has more than %d MiB: narrow the query, or aggregate with sum or topk", maxAnswerBytes>>20)
	}
	n, err := b.ReadCloser.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// Ask evaluates one query.
func (c *Client) Ask(ctx context.Context, q observation.Query) observation.Answer {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answer := observation.Answer{Query: q}
	matrix, err := c.ask(ctx, q.Expression, q)
	if err != nil {
		answer.Problem, answer.Refused = explain(err)
		return answer
	}
	selected := false
	for _, stream := range matrix {
		one := observation.Series{Name: string(stream.Metric[model.MetricNameLabel]), Labels: stream.Metric.String()}
		if len(stream.Metric) == 0 {
			one.Labels = ""
		}
		for _, pair := range stream.Values {
			one.Points = append(one.Points, observation.Point{At: pair.Timestamp.Time(), Value: float64(pair.Value)})
		}
		selected = selected || one.Name != ""
		answer.Series = append(answer.Series, one)
	}
	if selected && q.Step != "" {
		c.age(ctx, q, &answer)
	}
	return answer
}

// age finds the times of the newest samples. Prometheus gives them for queries that select series; of computed values
// it gives the time of the evaluation, which says nothing, and what cannot be found out is left unknown.
func (c *Client) age(ctx context.Context, q observation.Query, answer *observation.Answer) {
	last := q
	last.Start = q.End
	matrix, err := c.ask(ctx, "timestamp(\n"+q.Expression+"\n)", last)
	if err != nil {
		return
	}
	newest := map[string]time.Time{}
	for _, stream := range matrix {
		for _, pair := range stream.Values {
			newest[stream.Metric.String()] = time.UnixMilli(int64(float64(pair.Value) * 1000))
		}
	}
	for i := range answer.Series {
		one := &answer.Series[i]
		labels := strings.TrimPrefix(one.Labels, one.Name) // timestamp removes the name
		if labels == "" {
			labels = "{}"
		}
		one.Newest = newest[labels]
	}
}

// ask evaluates an expression over the time of a query.
func (c *Client) ask(ctx context.Context, expression string, q observation.Query) (model.Matrix, error) {
	value, _, _, err := c.api.QueryRange(ctx, expression, promv1.Range{Start: q.Start, End: q.End, Step: max(q.Resolution, time.Millisecond)},
		promv1.WithTimeout(queryTimeout), promv1.WithLimit(askedSeries))
	if err != nil {
		return nil, err
	}
	matrix, is := value.(model.Matrix)
	if !is {
		return nil, fmt.Errorf("the answer is a %s, not series: use a query whose value is a vector or a number", value.Type())
	}
	return matrix, nil
}

// explain returns the problem in words, and whether the server refused the query itself.
func explain(err error) (problem string, refused bool) {
	var answered *promv1.Error
	switch {
	case errors.As(err, &answered) && answered.Type == promv1.ErrBadData:
		// Newer versions name the parameter.
		return "Prometheus refuses the query: " + strings.TrimPrefix(answered.Msg, `invalid parameter "query": `), true
	case errors.As(err, &answered):
		return "Prometheus does not answer: " + answered.Msg, false
	case errors.Is(err, context.DeadlineExceeded):
		return "Prometheus did not answer in time", false
	}
	// The address is the operator's, and no user's business.
	if asked, is := errors.AsType[*url.Error](err); is {
		err = asked.Err
	}
	return "Prometheus cannot be asked: " + err.Error(), false
}
