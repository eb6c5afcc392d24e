package storagebenchmark

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// identity is the name and the seed of a run. It is derived from the request for the run: the same request always gives
// the same identity, no matter how often the run is created.
type identity struct {
	name string
	seed int64
}

// identityOf derives the identity of a run from the hash of its spec.run and from a status that already records the
// run. From the status, it uses the handled requests, the scheduled time if there is one, and the names of two
// preceding runs: the last one with a verdict and, if there is one, the last one without. These names are included so
// that changing a value back (v1, v2, v1) is a new request.
func identityOf(benchmark *v1alpha1.StorageBenchmark, status *v1alpha1.StorageBenchmarkStatus, hash string) identity {
	previous := ""
	if status.LastRun != nil {
		previous = status.LastRun.Name
	}
	parts := []string{string(benchmark.UID), hash, status.LastHandledManual, status.LastHandledRequest, previous}
	if at := status.LastScheduleTime; at != nil {
		parts = append(parts, "scheduled", strconv.FormatInt(at.Unix(), 10))
	}
	if status.LastReplacedRun != "" {
		parts = append(parts, "replaced", status.LastReplacedRun)
	}
	// NUL separates the parts. It cannot occur in a part, because the API accepts NUL only in requests, and boundedRequest
	// removes it from requests.
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return identity{
		name: benchmark.Name + "-" + hex.EncodeToString(sum[:4]),
		seed: int64(binary.BigEndian.Uint64(sum[8:16]) >> 2),
	}
}

// maxEcho is the API's limit on the length of a request that the status echoes, in characters.
const maxEcho = 128

// boundedRequest returns a request in the form that the status echoes: the request itself if it fits, otherwise its
// beginning and its hash.
func boundedRequest(request string) string {
	request = strings.ReplaceAll(request, "\x00", "")
	if v1alpha1.Truncate(request, maxEcho) == request {
		return request
	}
	sum := sha256.Sum256([]byte(request))
	return v1alpha1.Truncate(request, maxEcho-17) + "#" + hex.EncodeToString(sum[:8])
}

// request holds the user's unhandled requests for one more run.
type request struct {
	// manual and annotation are the values that the status will echo, or "" if there is no new request.
	manual, annotation string
}

func requestOf(benchmark *v1alpha1.StorageBenchmark) request {
	var asked request
	if trigger := benchmark.Spec.Trigger; trigger != nil && !adoptsManual(benchmark) {
		if value := boundedRequest(trigger.Manual); value != benchmark.Status.LastHandledManual {
			asked.manual = value
		}
	}
	if value := boundedRequest(benchmark.Annotations[v1alpha1.AnnotationRequestedAt]); value != benchmark.Status.LastHandledRequest {
		asked.annotation = value
	}
	return asked
}

func (r request) any() bool { return r.manual != "" || r.annotation != "" }

// adoptsManual reports whether the value of trigger.manual counts as handled already. It does if the operator has not
// seen the benchmark before and trigger.onChange is false, because the creation of such a benchmark must not start a
// run. Otherwise, rebuilding a cluster from Git would repeat the run that trigger.manual requested last, because Git
// keeps its value.
func adoptsManual(benchmark *v1alpha1.StorageBenchmark) bool {
	trigger := benchmark.Spec.Trigger
	return benchmark.Status.ObservedGeneration <= 0 && trigger != nil && trigger.OnChange != nil && !*trigger.OnChange
}

// judged reports whether the newest evaluated run has the given hash.
func judged(status *v1alpha1.StorageBenchmarkStatus, hash string) bool {
	return status.LastRun != nil && status.LastRun.Hash == hash
}

// runRequested reports whether a user, the schedule, or a spec.run without a verdict requests a run that is not
// recorded yet. A new spec.run does not count if trigger.onChange is false, or if trigger.onChange is unset and there
// is a schedule.
func runRequested(obs observation) bool {
	return requestOf(obs.benchmark).any() || obs.times.asks() ||
		obs.startsOnChange() && !judged(&obs.benchmark.Status, obs.hash)
}
