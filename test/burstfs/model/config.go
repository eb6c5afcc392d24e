package model

import "time"

// Config describes a store. The zero value has no limits.
type Config struct {
	// Scenario describes, in one line, the real store that this one simulates.
	Scenario string `yaml:"scenario,omitempty"`
	// Seed is the random seed for jitter and for failures with a probability.
	Seed uint64 `yaml:"seed,omitempty"`
	// Buckets limit the store, in any order: for example a volume, a server's disk and its network. Names are unique.
	Buckets []Bucket `yaml:"buckets,omitempty"`
	// Latency is the latency of requests that are not answered from the cache.
	Latency Latency `yaml:"latency,omitempty"`
	// QueueLimit is the maximum number of reads and writes that the store serves at once. 0 means no limit.
	QueueLimit int `yaml:"queueLimit,omitempty"`
	// Cache is the server's read cache, or nil for none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Compression compresses written data. nil means no compression.
	Compression *Compression `yaml:"compression,omitempty"`
	// Tenants are other users of the store.
	Tenants []Tenant `yaml:"tenants,omitempty"`
	// Failures are scheduled failures.
	Failures []Failure `yaml:"failures,omitempty"`
	// SpaceLate is the time after the last write to a file during which its old space (st_blocks) is still reported, as by
	// an SMB or NFS client with an attribute cache. It cannot change while the store is mounted.
	SpaceLate time.Duration `yaml:"spaceLate,omitempty"`
	// NamesPerSecond is the maximum number of files that the store creates and removes per second. 0 means no limit. It
	// cannot change while the store is mounted.
	NamesPerSecond float64 `yaml:"namesPerSecond,omitempty"`
	// NoLocks makes the store refuse locks (ENOLCK), as some shares do. It cannot change while the store is mounted.
	NoLocks bool `yaml:"noLocks,omitempty"`
}

// Counts is the unit that a bucket counts.
type Counts string

// Units of buckets.
const (
	CountsBytes      Counts = "bytes"
	CountsOperations Counts = "operations"
)

// Kind is the kind of a request.
type Kind string

// Kinds of requests. Create and Change are only subject to failures: they take no credits and have no latency.
const (
	Read   Kind = "read"
	Write  Kind = "write"
	Sync   Kind = "sync"
	Create Kind = "create" // a file, directory or link
	Change Kind = "change" // unlink, rename, truncate, attributes
)

// Bucket is one limit of a store.
type Bucket struct {
	Name   string `yaml:"name"`
	Counts Counts `yaml:"counts"`
	// BaselinePerSecond is the rate without credits, in bytes or operations per second.
	BaselinePerSecond float64 `yaml:"baselinePerSecond"`
	// BurstPerSecond is the rate while credits last. If it is 0, the bucket is a plain limit.
	BurstPerSecond float64 `yaml:"burstPerSecond,omitempty"`
	// Size is the most credits that the bucket holds, in bytes or operations. If it is 0, the bucket is a plain limit.
	Size float64 `yaml:"size,omitempty"`
	// RefillPerSecond is the rate at which credits come back. nil means the baseline.
	RefillPerSecond *float64 `yaml:"refillPerSecond,omitempty"`
	// StartFill is the initial fill level as a share of Size, 0 to 1. nil means 1.
	StartFill *float64 `yaml:"startFill,omitempty"`
	// Kinds lists the kinds of requests that the bucket limits, read or write. If it is empty, the bucket limits both.
	Kinds []Kind `yaml:"kinds,omitempty"`
	// ServesCache is true if the bucket lies between the client and the server's cache, as a network does. It then also
	// limits requests that the cache answers.
	ServesCache bool `yaml:"servesCache,omitempty"`
	// CompressionRatio divides the bytes before they are counted, to simulate compression with a fixed ratio. 0 means 1.
	CompressionRatio float64 `yaml:"compressionRatio,omitempty"`
	// CountsStored is true if the bucket lies behind the store's compression, and counts the bytes really stored by each
	// request. It requires Counts to be bytes.
	CountsStored bool `yaml:"countsStored,omitempty"`
	// OperationBytes is the size of the largest request that counts as one operation; a larger one counts as several. If
	// it is 0, every request counts as one.
	OperationBytes int64 `yaml:"operationBytes,omitempty"`
}

// Latency is the latency of a request, in addition to its wait for buckets.
type Latency struct {
	// Fixed is a constant latency.
	Fixed time.Duration `yaml:"fixed,omitempty"`
	// Jitter is the upper bound of a random, uniformly distributed latency that is added.
	Jitter time.Duration `yaml:"jitter,omitempty"`
	// Floor is the minimum time from the start of service to the answer, including the wait for buckets.
	Floor time.Duration `yaml:"floor,omitempty"`
}

// Cache answers reads of recently read or written blocks. The least recently used block is evicted first.
type Cache struct {
	Bytes int64 `yaml:"bytes"`
	// BlockBytes is the size of a cache block. 0 means 16 KiB.
	BlockBytes int64 `yaml:"blockBytes,omitempty"`
	// BytesPerSecond is the rate of the cache.
	BytesPerSecond float64 `yaml:"bytesPerSecond"`
	// Latency is the latency of requests that the cache answers.
	Latency time.Duration `yaml:"latency,omitempty"`
	// IgnoresWrites is true if written blocks do not enter the cache. They are then removed from it.
	IgnoresWrites bool `yaml:"ignoresWrites,omitempty"`
}

// Compression really compresses written data, record by record, so that the savings depend on the data. The space of
// files (st_blocks) shows the compressed size, as on ZFS.
type Compression struct {
	// Algorithm must be lz4.
	Algorithm CompressionAlgorithm `yaml:"algorithm"`
	// RecordBytes is the size of a record, which is compressed as a whole. 0 means 128 KiB.
	RecordBytes int64 `yaml:"recordBytes,omitempty"`
}

// CompressionAlgorithm is an algorithm for compressing records.
type CompressionAlgorithm string

// The algorithms.
const (
	CompressionLZ4 CompressionAlgorithm = "lz4"
)

// DefaultRecordBytes is the default record size of ZFS.
const DefaultRecordBytes = 128 << 10

// Tenant is another user of the store, who takes a share of buckets' rates according to a schedule.
type Tenant struct {
	Name string `yaml:"name"`
	// Share is the tenant's share of the burst or baseline rate, above 0 and at most 1. The shares of all tenants of a
	// bucket must not exceed 1; at 1, no other request passes.
	Share float64 `yaml:"share"`
	// Buckets lists the buckets that the tenant uses. If it is empty, the tenant uses all.
	Buckets []string `yaml:"buckets,omitempty"`
	// SparesCredits is true if the tenant's share costs no credits. This simulates a store that is temporarily slow
	// instead of a neighbour that uses it.
	SparesCredits bool `yaml:"sparesCredits,omitempty"`
	Schedule      `yaml:",inline"`
}

// Schedule says when something is active: from At, for the duration For, repeated every Every.
type Schedule struct {
	// At is the time since the start of the store.
	At time.Duration `yaml:"at,omitempty"`
	// For is the duration. 0 means forever.
	For time.Duration `yaml:"for,omitempty"`
	// Every is the time from one start to the next. 0 means once.
	Every time.Duration `yaml:"every,omitempty"`
}

// FailureError is the effect of a failure.
type FailureError string

// Effects of failures, with the kinds of requests that they affect by default.
const (
	FailureEIO    FailureError = "EIO"    // read, write and sync fail
	FailureENOSPC FailureError = "ENOSPC" // write and create fail
	FailureEROFS  FailureError = "EROFS"  // write, create and change fail: read-only
	FailureStall  FailureError = "stall"  // read, write and sync are answered late
)

// Failure makes requests fail or stall.
type Failure struct {
	Error FailureError `yaml:"error"`
	// Stall is the minimum time from submission to answer, if Error is stall.
	Stall time.Duration `yaml:"stall,omitempty"`
	// Kinds lists the kinds of affected requests. If it is empty, the default of the FailureError applies.
	Kinds []Kind `yaml:"kinds,omitempty"`
	// Path is a pattern, as for path.Match, for the base name of the file. If it is empty, all files are affected.
	Path string `yaml:"path,omitempty"`
	// Count is the number of affected requests after which the failure ends. 0 means no limit.
	Count int `yaml:"count,omitempty"`
	// Probability is the probability that a request is affected, 0 to 1. 0 means that all are.
	Probability float64 `yaml:"probability,omitempty"`
	Schedule    `yaml:",inline"`
}

// Pointer returns a pointer to a value, for optional fields such as RefillPerSecond and StartFill.
func Pointer(value float64) *float64 { return &value }

// Refill returns the rate per second at which credits come back.
func (b Bucket) Refill() float64 {
	if b.RefillPerSecond == nil {
		return b.BaselinePerSecond
	}
	return *b.RefillPerSecond
}

// Start returns the initial credits.
func (b Bucket) Start() float64 {
	if b.StartFill == nil {
		return b.Size
	}
	return b.Size * *b.StartFill
}

// Bursts reports whether the bucket has credits.
func (b Bucket) Bursts() bool { return b.BurstPerSecond > 0 && b.Size > 0 }

// SecondsOfBurst returns the time in seconds that a full bucket lasts under steady demand without tenants.
func (b Bucket) SecondsOfBurst() float64 { return b.Size / (b.BurstPerSecond - b.Refill()) }

// Amount returns the credits that a request of the given size costs, before compression.
func (b Bucket) Amount(bytes int64) float64 {
	if b.Counts == CountsOperations {
		if b.OperationBytes == 0 {
			return 1
		}
		return float64(max(1, (bytes+b.OperationBytes-1)/b.OperationBytes))
	}
	if b.CompressionRatio > 0 {
		return float64(bytes) / b.CompressionRatio
	}
	return float64(bytes)
}

// amountOf returns the credits that a request costs.
func (b Bucket) amountOf(r Request) float64 {
	if b.CountsStored {
		return float64(r.Stored)
	}
	return b.Amount(r.Bytes)
}

// Applies reports whether the bucket limits requests of that kind.
func (b Bucket) Applies(kind Kind) bool { return hasKind(b.Kinds, kind) }
