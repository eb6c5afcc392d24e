package truth

import (
	"math"
	"time"
)

// WaitsAtMost returns the share of requests that wait at most the given time in an M/D/1 queue: requests arrive at
// random, with a mean rate of arrivals per second, and a single server takes the same time for each. It is Erlang's
// formula of 1909 in its explicit form:
//
//	P(W <= t) = (1 - r) * sum over k = 0..floor(t/D) of (-x)^k / k! * e^x,   x = l * (t - k*D),   r = l * D
//
// with arrivals l per second and the service time D. See G. J. Franx, "A simple solution for the M/D/c waiting time
// distribution", Operations Research Letters 29 (2001), and V. B. Iversen, "Teletraffic Engineering", chapter 10. The
// terms alternate in sign, which costs precision if t is above some twenty D.
func WaitsAtMost(arrivals, service, wait float64) float64 {
	if arrivals*service >= 1 {
		return 0
	}
	sum := 0.0
	for k := 0.0; k*service <= wait; k++ {
		x := arrivals * (wait - k*service)
		factorial, _ := math.Lgamma(k + 1)
		term := math.Exp(k*math.Log(max(x, math.SmallestNonzeroFloat64)) - factorial + x)
		if math.Mod(k, 2) == 1 {
			term = -term
		}
		if k == 0 {
			term = math.Exp(x)
		}
		sum += term
	}
	return (1 - arrivals*service) * sum
}

// HighestRate returns the highest arrival rate at which the given share of requests has at most the given latency, with
// a server that serves the given number of requests per second.
func HighestRate(served float64, latency time.Duration, share float64) float64 {
	service := 1 / served
	low, high := 0.0, served
	for range 60 {
		middle := (low + high) / 2
		if WaitsAtMost(middle, service, latency.Seconds()-service) >= share {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
