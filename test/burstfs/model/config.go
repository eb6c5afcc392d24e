package model

import "time"

// Config describes a store. The zero value has no limits at all.
type Config struct {
	// Scenario says in a line what the store stands for.
	Scenario string `yaml:"scenario,omitempty"`
	// Seed of jitter and of failures with a probability.
	Seed uint64 `yaml:"seed,omitempty"`
	// Buckets that limit the store, in any order: a volume, a server's disk, its network. Names are unique.
	Buckets []Bucket `yaml:"buckets,omitempty"`
	// Latency of every request that is not answered from the cache.
	Latency Latency `yaml:"latency,omitempty"`
	// QueueLimit is how many reads and writes the store serves at once; others wait for a place. 0: any
	// number.
	QueueLimit int `yaml:"queueLimit,omitempty"`
	// Cache of the server for reads. Absent: none.
	Cache *Cache `yaml:"cache,omitempty"`
	// Compression of what is written. Absent: none.
	Compression *Compression `yaml:"compression,omitempty"`
	// Tenants that share the store.
	Tenants []Tenant `yaml:"tenants,omitempty"`
	// Failures that happen by a schedule.
	Failures []Failure `yaml:"failures,omitempty"`
	// SpaceLate is how long after the last write to a file its space (st_blocks) is still reported as it was, as a client of
	// SMB or NFS with an attribute cache does. It is of the mount, so it stays as it was.
	SpaceLate time.Duration `yaml:"spaceLate,omitempty"`
	// NamesPerSecond is how many files it creates and removes a second, one after the other. 0: any number. It is of the mount,
	// so it stays as it was.
	NamesPerSecond float64 `yaml:"namesPerSecond,omitempty"`
	// NoLocks has it refuse locks (ENOLCK), as some shares do. It is of the mount, so it stays as it was.
	NoLocks bool `yaml:"noLocks,omitempty"`
}

// Counts is what a bucket counts.
type Counts string

// What a bucket may count.
const (
	CountsBytes      Counts = "bytes"
	CountsOperations Counts = "operations"
)

// Kind of a request.
type Kind string

// The kinds. Creating and changing are only subject to failures: they take neither credits nor latency.
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
	// BaselinePerSecond is let through, in bytes or operations, when there are no credits.
	BaselinePerSecond float64 `yaml:"baselinePerSecond"`
	// BurstPerSecond is let through while there are credits. 0: the bucket is a plain limit.
	BurstPerSecond float64 `yaml:"burstPerSecond,omitempty"`
	// Size in bytes or operations. 0: the bucket is a plain limit.
	Size float64 `yaml:"size,omitempty"`
	// RefillPerSecond is what the credits grow by. Absent: the baseline.
	RefillPerSecond *float64 `yaml:"refillPerSecond,omitempty"`
	// StartFill is the share of Size that is there at the start, 0 to 1. Absent: 1.
	StartFill *float64 `yaml:"startFill,omitempty"`
	// Kinds of requests that it limits, read and write. Absent: both.
	Kinds []Kind `yaml:"kinds,omitempty"`
	// ServesCache says that it lies between the client and the server's cache, as a network does, and so
	// limits what the cache answers too.
	ServesCache bool `yaml:"servesCache,omitempty"`
	// CompressionRatio divides the bytes before they are counted: what compression saves behind it.
	// 0: 1.
	CompressionRatio float64 `yaml:"compressionRatio,omitempty"`
	// CountsStored says that it lies behind the store's compression, and counts what is really stored of each
	// request. Only for bytes.
	CountsStored bool `yaml:"countsStored,omitempty"`
	// OperationBytes is the largest request that counts as one operation; a larger one counts as several.
	// 0: any size is one.
	OperationBytes int64 `yaml:"operationBytes,omitempty"`
}

// Latency of a request, on top of what buckets make it wait.
type Latency struct {
	// Fixed is always added.
	Fixed time.Duration `yaml:"fixed,omitempty"`
	// Jitter is the upper bound of what is added at random, evenly spread.
	Jitter time.Duration `yaml:"jitter,omitempty"`
	// Floor is the least time from being taken up to the answer, waiting for buckets included.
	Floor time.Duration `yaml:"floor,omitempty"`
}

// Cache answers reads of blocks that were read or written a short while ago; the least recently used
// block goes first.
type Cache struct {
	Bytes int64 `yaml:"bytes"`
	// BlockBytes is what it keeps and drops as one. 0: 16 KiB.
	BlockBytes int64 `yaml:"blockBytes,omitempty"`
	// BytesPerSecond is the cache's own speed.
	BytesPerSecond float64 `yaml:"bytesPerSecond"`
	// Latency of what it answers.
	Latency time.Duration `yaml:"latency,omitempty"`
	// IgnoresWrites says that written blocks do not enter it. They leave it in that case.
	IgnoresWrites bool `yaml:"ignoresWrites,omitempty"`
}

// Compression really compresses what is written, record by record, so that what is saved depends on the data. Files
// show it in the space that they take, as on ZFS.
type Compression struct {
	// Algorithm is lz4.
	Algorithm CompressionAlgorithm `yaml:"algorithm"`
	// RecordBytes is what is compressed as one. 0: 128 KiB.
	RecordBytes int64 `yaml:"recordBytes,omitempty"`
}

// CompressionAlgorithm is how records are compressed.
type CompressionAlgorithm string

// The algorithms.
const (
	CompressionLZ4 CompressionAlgorithm = "lz4"
)

// DefaultRecordBytes is that of ZFS.
const DefaultRecordBytes = 128 << 10

// Tenant takes a share of buckets' rates while it is there.
type Tenant struct {
	Name string `yaml:"name"`
	// Share of the rate, burst or baseline, above 0 up to 1. The shares of all tenants of a bucket add up to 1
	// at most; at 1 nothing is let through to others.
	Share float64 `yaml:"share"`
	// Buckets it uses. Absent: all.
	Buckets []string `yaml:"buckets,omitempty"`
	// SparesCredits says that what it takes costs no credits: a store that is slow for a while, not a
	// neighbour that uses it.
	SparesCredits bool `yaml:"sparesCredits,omitempty"`
	Schedule      `yaml:",inline"`
}

// Schedule says when something is: from At for a time of For, again after each Every.
type Schedule struct {
	// At is counted from the start of the store.
	At time.Duration `yaml:"at,omitempty"`
	// For is how long. 0: for ever.
	For time.Duration `yaml:"for,omitempty"`
	// Every is the time from one start to the next. 0: once.
	Every time.Duration `yaml:"every,omitempty"`
}

// FailureError is how a failure shows.
type FailureError string

// What a failure may be.
const (
	FailureEIO    FailureError = "EIO"    // read, write and sync fail
	FailureENOSPC FailureError = "ENOSPC" // write and create fail
	FailureEROFS  FailureError = "EROFS"  // write, create and change fail: read-only
	FailureStall  FailureError = "stall"  // read, write and sync are answered late
)

// Failure makes requests fail or stall.
type Failure struct {
	Error FailureError `yaml:"error"`
	// Stall is the least time from submission to answer, for the error stall.
	Stall time.Duration `yaml:"stall,omitempty"`
	// Kinds of requests. Absent: those named at each FailureError.
	Kinds []Kind `yaml:"kinds,omitempty"`
	// Path is a pattern of path.Match for the last element of the file's name. Absent: all.
	Path string `yaml:"path,omitempty"`
	// Count is after how many requests it ends. 0: never.
	Count int `yaml:"count,omitempty"`
	// Probability of a request to be hit, 0 to 1. 0: all.
	Probability float64 `yaml:"probability,omitempty"`
	Schedule    `yaml:",inline"`
}

// Pointer makes an optional figure, as RefillPerSecond and StartFill are.
func Pointer(value float64) *float64 { return &value }

// Refill is what the credits grow by a second.
func (b Bucket) Refill() float64 {
	if b.RefillPerSecond == nil {
		return b.BaselinePerSecond
	}
	return *b.RefillPerSecond
}

// Start is the credits at the start.
func (b Bucket) Start() float64 {
	if b.StartFill == nil {
		return b.Size
	}
	return b.Size * *b.StartFill
}

// Bursts reports whether it has credits at all.
func (b Bucket) Bursts() bool { return b.BurstPerSecond > 0 && b.Size > 0 }

// SecondsOfBurst is how long a full bucket lasts under steady demand without tenants.
func (b Bucket) SecondsOfBurst() float64 { return b.Size / (b.BurstPerSecond - b.Refill()) }

// Amount is what a request of so many bytes takes from it.
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

// amountOf is what a request takes from it.
func (b Bucket) amountOf(r Request) float64 {
	if b.CountsStored {
		return float64(r.Stored)
	}
	return b.Amount(r.Bytes)
}

// Applies reports whether the bucket limits requests of that kind.
func (b Bucket) Applies(kind Kind) bool { return hasKind(b.Kinds, kind) }
