package credits

// Account estimates the fill level of a bucket over time. The estimate is only as accurate as the figures of the
// Bucket. A copy of an Account is independent of the original.
type Account struct {
	bucket      Bucket
	most, least float64
}

// Open returns an Account that tracks the bucket, with an unknown initial fill level.
func Open(bucket Bucket) Account { return Account{bucket: bucket, most: bucket.Size} }

// Bucket returns the bucket that the account tracks.
func (a Account) Bucket() Bucket { return a.bucket }

// Fill returns an upper bound on the credits in the bucket. It assumes that the bucket was full initially.
func (a Account) Fill() float64 { return a.most }

// Percent returns Fill as a percentage of a full bucket, 0 to 100.
func (a Account) Percent() float64 { return 100 * a.most / a.bucket.Size }

// LeastPercent returns a lower bound on the credits in the bucket, as a percentage of a full bucket, 0 to 100. It
// assumes that the bucket was empty initially.
func (a Account) LeastPercent() float64 { return 100 * a.least / a.bucket.Size }

// Load records a load with the given mean rate and duration. Its operations or bytes are deducted from the credits
// while the bucket refills.
func (a *Account) Load(rate, seconds float64) { a.LoadBetween(rate, rate, seconds) }

// LoadBetween is like Load, for a load whose mean rate per second is only known to be between low and high.
func (a *Account) LoadBetween(low, high, seconds float64) {
	a.most = a.bucket.clamp(a.most + (a.bucket.Refill-low)*seconds)
	a.least = a.bucket.clamp(a.least + (a.bucket.Refill-high)*seconds)
}

// Idle records that the bucket refilled without load for the given number of seconds.
func (a *Account) Idle(seconds float64) { a.Load(0, seconds) }

// Emptied records that the bucket was observed to be empty: the rate of a load fell to the baseline and stayed there.
func (a *Account) Emptied() { a.most, a.least = 0, 0 }

// Demand records a load that demands the given rate per second for the given time; math.Inf(1) means unlimited demand.
// It returns the amount that the bucket lets through during that time if it was full initially. While there are
// credits, the bucket lets through the demand, up to the burst rate; after that, at most the baseline.
func (a *Account) Demand(demand, seconds float64) (through float64) {
	a.least, _ = a.bucket.pass(a.least, demand).after(a.bucket, a.least, seconds)
	a.most, through = a.bucket.pass(a.most, demand).after(a.bucket, a.most, seconds)
	return through
}

// Work records a load that demands the given rate per second until the bucket has let the given amount through. It
// returns how many seconds that takes if the bucket was full initially.
func (a *Account) Work(demand, amount float64) (seconds float64) {
	seconds = a.bucket.pass(a.most, demand).takes(amount)
	a.Demand(demand, seconds)
	return seconds
}

// SecondsTo returns how long the bucket must be idle to hold at least the given percentage of its size, regardless of
// its initial fill level.
func (a Account) SecondsTo(percent float64) float64 {
	return max(0, a.bucket.FillSeconds(percent)-a.least/a.bucket.Refill)
}

// SecondsToEmpty returns how long a load that demands the given rate per second takes to empty the bucket if it was
// full initially; math.Inf(1) means unlimited demand. It returns infinity if credits refill at least as fast as they
// are spent.
func (a Account) SecondsToEmpty(demand float64) float64 {
	bucket := a.bucket
	bucket.Burst = min(bucket.Burst, demand)
	return bucket.DrainSeconds(a.most)
}
