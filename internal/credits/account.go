package credits

// knownShare of the bucket is how far the two fills may be apart to count as one.
const knownShare = 0.01

// Account is the estimated fill of a bucket over time. It is as right as the bucket that it was
// opened for. Copies are independent of each other.
type Account struct {
	bucket      Bucket
	most, least float64
}

// Open makes the account of a bucket of which nobody knows how full it is.
func Open(bucket Bucket) Account { return Account{bucket: bucket, most: bucket.Size} }

// Bucket that the account is of.
func (a Account) Bucket() Bucket { return a.bucket }

// Fill is the credits that there are if the bucket was full at first: the most that there can be.
func (a Account) Fill() float64 { return a.most }

// Percent is Fill as a part of a full bucket, 0 to 100.
func (a Account) Percent() float64 { return 100 * a.most / a.bucket.Size }

// LeastPercent is the fill if the bucket was empty at first, 0 to 100.
func (a Account) LeastPercent() float64 { return 100 * a.least / a.bucket.Size }

// Known reports whether the fill does no longer depend on what it was at first, within 1 % of the bucket.
func (a Account) Known() bool { return a.most-a.least <= knownShare*a.bucket.Size }

// Load spends what a load took, by its mean rate over so many seconds; the bucket refills meanwhile.
func (a *Account) Load(rate, seconds float64) { a.LoadBetween(rate, rate, seconds) }

// LoadBetween is Load for a load of which it is not known how much of it reached the bucket: at least low, at most
// high a second.
func (a *Account) LoadBetween(low, high, seconds float64) {
	a.most = a.bucket.clamp(a.most + (a.bucket.Refill-low)*seconds)
	a.least = a.bucket.clamp(a.least + (a.bucket.Refill-high)*seconds)
}

// Idle refills for so many seconds.
func (a *Account) Idle(seconds float64) { a.Load(0, seconds) }

// Emptied notes that the bucket was seen to be empty: the load fell to the baseline and stayed there.
func (a *Account) Emptied() { a.most, a.least = 0, 0 }

// Demand spends what a load of that demand a second gets in so many seconds, and tells how much that
// is: the demand or the burst while there are credits, then the baseline at most. Full demand is
// math.Inf(1).
func (a *Account) Demand(demand, seconds float64) (through float64) {
	a.least, _ = a.bucket.pass(a.least, demand).after(a.bucket, a.least, seconds)
	a.most, through = a.bucket.pass(a.most, demand).after(a.bucket, a.most, seconds)
	return through
}

// Work spends a fixed amount as fast as the bucket lets it through, at a demand a second that is at
// least that, and tells how many seconds it takes with the most credits.
func (a *Account) Work(demand, amount float64) (seconds float64) {
	seconds = a.bucket.pass(a.most, demand).takes(amount)
	a.Demand(demand, seconds)
	return seconds
}

// SecondsTo is how long the bucket has to be left alone until it holds so many percent for certain,
// whatever it held at first.
func (a Account) SecondsTo(percent float64) float64 {
	return max(0, a.bucket.FillSeconds(percent)-a.least/a.bucket.Refill)
}

// SecondsToEmpty is how long full demand lasts until the bucket is empty, if it was full at first.
func (a Account) SecondsToEmpty() float64 { return a.bucket.DrainSeconds(a.most) }
