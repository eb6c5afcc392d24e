package prometheus

import (
	"context"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/observation"
)

// evaluationTimeout limits the total duration of all queries in an evaluation.
const evaluationTimeout = 60 * time.Second

// Observer evaluates the observations of one run in the background.
type Observer struct {
	config    Config
	namespace string

	mu     sync.Mutex
	newest *evaluation
}

type evaluation struct {
	cancel  context.CancelFunc
	answers []observation.Answer
	ended   bool
}

// NewObserver returns an Observer that queries Prometheus on behalf of the runs in a namespace.
func NewObserver(config Config, namespace string) *Observer {
	return &Observer{config: config, namespace: namespace}
}

// Interval returns the scrape interval.
func (o *Observer) Interval() time.Duration { return o.config.Interval }

// Ask starts an evaluation and cancels any earlier evaluation.
func (o *Observer) Ask(queries []observation.Query) {
	ctx, cancel := context.WithTimeout(context.Background(), evaluationTimeout)
	started := &evaluation{cancel: cancel}
	o.mu.Lock()
	if o.newest != nil {
		o.newest.cancel()
	}
	o.newest = started
	o.mu.Unlock()
	go func() {
		defer cancel()
		answers := o.answers(ctx, queries)
		o.mu.Lock()
		defer o.mu.Unlock()
		started.answers, started.ended = answers, true
	}()
}

// Answers returns the answers of the newest evaluation. ended reports whether this evaluation has ended.
func (o *Observer) Answers() (answers []observation.Answer, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.newest == nil || !o.newest.ended {
		return nil, false
	}
	return o.newest.answers, true
}

// answers evaluates queries. If no client can be created, for example because the CA file is missing, each answer
// reports this error.
func (o *Observer) answers(ctx context.Context, queries []observation.Query) []observation.Answer {
	client, err := New(o.config, o.namespace)
	if err == nil {
		defer client.Close()
	}
	answers := make([]observation.Answer, 0, len(queries))
	kept := 0
	for _, q := range queries {
		if err != nil {
			answers = append(answers, observation.Answer{Query: q, Problem: "cannot query Prometheus: " + err.Error()})
			continue
		}
		answer := client.Ask(ctx, q)
		if kept >= observation.MaxOver {
			answer.OmitPoints()
		}
		kept += len(answer.Series)
		answers = append(answers, answer)
	}
	return answers
}
