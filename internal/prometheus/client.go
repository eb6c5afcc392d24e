package prometheus

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/observation"
)

const (
	// maxAnswerBytes limits the size of one answer. It is enough for 16 series of 10,000 points.
	maxAnswerBytes = 4 << 20
	maxProblem     = 400
	// queryTimeout limits the duration of one query.
	queryTimeout = 10 * time.Second
	// askedSeries is the maximum number of series requested from the server. Some servers ignore it.
	askedSeries = 200
	// DefaultInterval is the default scrape interval.
	DefaultInterval = 15 * time.Second
)

// Config describes how to query the Prometheus server.
type Config struct {
	// URL is the address, up to but not including /api/v1.
	URL string
	// TokenFile is the path of a file with a bearer token, which is read for each request. CAFile is the path of a file
	// with the CA certificates that verify the server's certificate. Both are optional.
	TokenFile, CAFile string
	// NamespaceParameter is the URL parameter that carries the namespace of the run, for a proxy that restricts queries
	// to one namespace. If it is empty, no parameter is added.
	NamespaceParameter string
	// Interval is the interval at which the queried series are scraped.
	Interval time.Duration
}

// reading is a semaphore that is held while an answer is read and summarized, so that the process has at most one
// large answer in memory, even if many runs end at once.
var reading = make(chan struct{}, 1)

// Client queries a Prometheus server on behalf of one namespace. It is not safe for concurrent use.
type Client struct {
	api      promv1.API
	requests *requester
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
			return nil, fmt.Errorf("%s contains no PEM certificate", config.CAFile)
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
	return &Client{api: promv1.NewAPI(client), requests: requests}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.requests.next.CloseIdleConnections() }

// Check returns an error if the URL or the scrape interval is invalid.
func (c *Config) Check() error {
	at, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return errors.New("the URL of Prometheus cannot be parsed: use http://HOST:PORT or https://HOST:PORT, followed by a path if needed")
	case at.User != nil:
		return errors.New("the URL of Prometheus contains a user or a password, which would be visible in process lists: use a file with a bearer token")
	case at.Scheme != "http" && at.Scheme != "https" || at.Host == "":
		return fmt.Errorf("the URL of Prometheus is %q: use http://HOST:PORT or https://HOST:PORT, followed by a path if needed", c.URL)
	case at.RawQuery != "" || at.Fragment != "":
		return fmt.Errorf("the URL of Prometheus is %q, but must not have a query or a fragment: remove the part that starts with ? or #", c.URL)
	case c.Interval < time.Second || c.Interval > time.Hour:
		return fmt.Errorf("the scrape interval is %s: must be from 1s to 1h", c.Interval)
	}
	return nil
}

// requester adds the token and the namespace to each request, and limits the size of the answer.
type requester struct {
	config    Config
	namespace string
	next      *http.Transport
	// reads is true while the requester holds the reading semaphore.
	reads bool
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
	if !r.reads {
		select {
		case reading <- struct{}{}:
			r.reads = true
		case <-request.Context().Done():
			_ = answer.Body.Close()
			return nil, request.Context().Err()
		}
	}
	answer.Body = &bounded{ReadCloser: answer.Body, left: maxAnswerBytes}
	return answer, nil
}

// release releases the reading semaphore if the requester holds it.
func (r *requester) release() {
	if r.reads {
		r.reads = false
		<-reading
	}
}

// bounded is a reader that fails after a maximum number of bytes.
type bounded struct {
	io.ReadCloser
	left int
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the answer is larger than %d MiB: narrow the query, or aggregate with sum or topk", maxAnswerBytes>>20)
	}
	n, err := b.ReadCloser.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}

// Ask evaluates one query. Texts in the answer are made printable, because the author of a query can choose the names
// and values of labels.
func (c *Client) Ask(ctx context.Context, q observation.Query) observation.Answer {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	answer := observation.Answer{Query: q}
	keys, err := c.read(ctx, &answer)
	if err != nil {
		answer.Problem, answer.Refused = explain(err)
		answer.Problem = v1alpha1.Truncate(printable(answer.Problem), maxProblem)
		return answer
	}
	if len(keys) > 0 && q.Step != "" {
		c.age(ctx, keys, &answer)
	}
	return answer
}

// read evaluates a query and adds the series to the answer. It also returns the labels of each series without the
// metric name, or nil if no series has a metric name.
func (c *Client) read(ctx context.Context, answer *observation.Answer) (keys []string, err error) {
	defer c.requests.release()
	matrix, err := c.ask(ctx, answer.Expression, answer.Query)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(matrix, func(x, y *model.SampleStream) int { return cmp.Compare(x.Metric.String(), y.Metric.String()) })
	named := false
	var points []observation.Point
	for _, stream := range matrix {
		one := observation.Series{Name: string(stream.Metric[model.MetricNameLabel])}
		if len(stream.Metric) > 0 {
			one.Labels = printable(stream.Metric.String())
		}
		points = points[:0]
		for _, pair := range stream.Values {
			points = append(points, observation.Point{At: pair.Timestamp.Time(), Value: float64(pair.Value)})
		}
		one.Points = points
		if answer.Add(one); len(answer.Series) > len(keys) {
			keys = append(keys, key(stream.Metric))
			named = named || one.Name != ""
		}
	}
	if !named {
		return nil, nil
	}
	return keys, nil
}

// key returns the labels of a series without the metric name, because timestamp() removes the name.
func key(metric model.Metric) string {
	metric = metric.Clone()
	delete(metric, model.MetricNameLabel)
	return metric.String()
}

// age finds the time of each series' newest sample by querying timestamp(). This works for queries that select series.
// For computed values, timestamp() returns the time of the evaluation instead. If the time of a series cannot be found,
// its field Newest remains zero.
func (c *Client) age(ctx context.Context, keys []string, answer *observation.Answer) {
	defer c.requests.release()
	last := answer.Query
	last.Start = last.End
	matrix, err := c.ask(ctx, "timestamp(\n"+answer.Expression+"\n)", last)
	if err != nil {
		return
	}
	newest := map[string]time.Time{}
	for _, stream := range matrix {
		for _, pair := range stream.Values {
			newest[key(stream.Metric)] = time.UnixMilli(int64(float64(pair.Value) * 1000))
		}
	}
	for i := range answer.Series {
		answer.Series[i].Newest = newest[keys[i]]
	}
}

// printable returns a text as one line of printable characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return -1
	}, text)
}

// ask evaluates an expression over the time range of a query.
func (c *Client) ask(ctx context.Context, expression string, q observation.Query) (model.Matrix, error) {
	// Prometheus reads the step as floating-point seconds and cuts it to whole milliseconds. Without the added
	// microsecond, 8.001 seconds would become 8,000 milliseconds.
	step := max(q.Resolution, time.Millisecond) + time.Microsecond
	value, _, _, err := c.api.QueryRange(ctx, expression, promv1.Range{Start: q.Start, End: q.End, Step: step},
		promv1.WithTimeout(queryTimeout), promv1.WithLimit(askedSeries))
	if err != nil {
		return nil, err
	}
	matrix, is := value.(model.Matrix)
	if !is {
		return nil, fmt.Errorf("the query returned a %s, not series: use a query that returns a vector or a scalar", value.Type())
	}
	return matrix, nil
}

// explain describes an error, and reports whether the server rejected the query itself.
func explain(err error) (problem string, refused bool) {
	var answered *promv1.Error
	switch {
	case errors.As(err, &answered) && answered.Type == promv1.ErrBadData:
		// Newer versions of Prometheus begin the message with the name of the parameter, so remove it.
		return "Prometheus rejected the query: " + strings.TrimPrefix(answered.Msg, `invalid parameter "query": `), true
	case errors.As(err, &answered):
		return "Prometheus returned an error: " + answered.Msg, false
	case errors.Is(err, context.DeadlineExceeded):
		return "Prometheus did not answer in time", false
	}
	// Unwrap errors that contain the address of Prometheus, which users should not see.
	if asked, is := errors.AsType[*url.Error](err); is {
		err = asked.Err
	}
	if dialled, is := errors.AsType[*net.OpError](err); is {
		err = dialled.Err
	}
	if unknown, is := errors.AsType[*net.DNSError](err); is {
		err = errors.New(unknown.Err)
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		err = errors.New("the server's certificate cannot be verified")
	}
	return "cannot query Prometheus: " + err.Error(), false
}
