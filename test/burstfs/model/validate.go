package model

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"time"
)

// Validate returns an error that lists everything that is wrong with a configuration. Each entry names the field, the
// value and what would be valid.
func (c Config) Validate() error {
	var wrong []error
	refuse := func(format string, arguments ...any) { wrong = append(wrong, fmt.Errorf(format, arguments...)) }
	var names []string
	for i, b := range c.Buckets {
		at := fmt.Sprintf("buckets[%d] %q: ", i, b.Name)
		if b.Name == "" || slices.Contains(names, b.Name) {
			refuse("%sname: must be there and unique", at)
		}
		names = append(names, b.Name)
		for _, reason := range b.wrong() {
			refuse("%s%s", at, reason)
		}
		if b.CountsStored && c.Compression == nil {
			refuse("%scountsStored: the store has no compression; describe it, or remove countsStored", at)
		}
	}
	if !(c.NamesPerSecond >= 0) {
		refuse("namesPerSecond: %g is below 0", c.NamesPerSecond)
	}
	if c.QueueLimit < 0 {
		refuse("queueLimit: %d is below 0", c.QueueLimit)
	}
	for name, d := range map[string]time.Duration{
		"fixed": c.Latency.Fixed, "jitter": c.Latency.Jitter, "floor": c.Latency.Floor,
	} {
		if err := times(name, d); err != nil {
			refuse("latency: %w", err)
		}
	}
	if k := c.Cache; k != nil && (k.Bytes <= 0 || k.BytesPerSecond <= 0 || k.BlockBytes < 0) {
		refuse("cache: bytes %d and bytesPerSecond %g must be above 0, blockBytes %d not below",
			k.Bytes, k.BytesPerSecond, k.BlockBytes)
	} else if k != nil {
		if err := times("latency", k.Latency); err != nil {
			refuse("cache: %w", err)
		}
	}
	if k := c.Compression; k != nil && (k.Algorithm != CompressionLZ4 || k.RecordBytes < 0 || k.RecordBytes%512 != 0) {
		refuse("compression: algorithm %q must be lz4, recordBytes %d a multiple of 512", k.Algorithm, k.RecordBytes)
	}
	for i, t := range c.Tenants {
		at := fmt.Sprintf("tenants[%d] %q: ", i, t.Name)
		if !(t.Share > 0 && t.Share <= 1) {
			refuse("%sshare: %g must be above 0 and at most 1", at, t.Share)
		}
		for _, name := range t.Buckets {
			if !slices.Contains(names, name) {
				refuse("%sbuckets: there is no bucket %q among %q", at, name, names)
			}
		}
		if err := t.Schedule.validate(); err != nil {
			refuse("%s%w", at, err)
		}
	}
	for _, name := range names {
		if sum := c.allShares(name); sum > 1+1e-9 {
			refuse("tenants: their shares of bucket %q add up to %g, more than 1", name, sum)
		}
	}
	for i, f := range c.Failures {
		if err := f.Validate(); err != nil {
			refuse("failures[%d]: %w", i, err)
		}
	}
	return errors.Join(wrong...)
}

func (c Config) allShares(bucket string) float64 {
	sum := 0.0
	for _, t := range c.Tenants {
		if t.uses(bucket) {
			sum += t.Share
		}
	}
	return sum
}

func (b Bucket) wrong() []string {
	var reasons []string
	refuse := func(format string, arguments ...any) { reasons = append(reasons, fmt.Sprintf(format, arguments...)) }
	if b.Counts != CountsBytes && b.Counts != CountsOperations {
		refuse("counts: %q must be bytes or operations", b.Counts)
	}
	for _, figure := range []struct {
		name  string
		value float64
	}{
		{"baselinePerSecond", b.BaselinePerSecond}, {"burstPerSecond", b.BurstPerSecond}, {"size", b.Size},
		{"refillPerSecond", b.Refill()}, {"compressionRatio", b.CompressionRatio},
		{"operationBytes", float64(b.OperationBytes)},
	} {
		if figure.value < 0 || math.IsNaN(figure.value) || math.IsInf(figure.value, 0) {
			refuse("%s: %g must be a number not below 0", figure.name, figure.value)
		}
	}
	if b.BaselinePerSecond == 0 {
		refuse("baselinePerSecond: must be above 0, or an empty bucket would never let anything through")
	}
	if b.StartFill != nil && !(*b.StartFill >= 0 && *b.StartFill <= 1) {
		refuse("startFill: %g must lie between 0 and 1", *b.StartFill)
	}
	if (b.BurstPerSecond > 0) != (b.Size > 0) {
		refuse("burstPerSecond %g and size %g: give both or neither", b.BurstPerSecond, b.Size)
	}
	if b.Bursts() && b.BurstPerSecond <= max(b.BaselinePerSecond, b.Refill()) {
		refuse("burstPerSecond: %g must be above baselinePerSecond %g and refillPerSecond %g, or the credits never end",
			b.BurstPerSecond, b.BaselinePerSecond, b.Refill())
	}
	for _, kind := range b.Kinds {
		if kind != Read && kind != Write {
			refuse("kinds: %q must be read or write", kind)
		}
	}
	if b.Counts == CountsBytes && b.OperationBytes != 0 {
		refuse("operationBytes: is for counts: operations")
	}
	if b.Counts == CountsOperations && (b.CompressionRatio != 0 || b.CountsStored) {
		refuse("compressionRatio and countsStored: are for counts: bytes")
	}
	if b.CountsStored && b.CompressionRatio != 0 {
		refuse("compressionRatio: what is stored is compressed already; give either that or countsStored")
	}
	return reasons
}

// times refuses implausibly short durations: YAML decodes a number without a unit as nanoseconds.
func times(name string, d time.Duration) error {
	if d < 0 || d > 0 && d < time.Microsecond {
		return fmt.Errorf("%s: %s must be 0 or at least 1us; a time has a unit, as 4ms has", name, d)
	}
	return nil
}

func (s Schedule) validate() error {
	if err := errors.Join(times("at", s.At), times("for", s.For), times("every", s.Every)); err != nil {
		return err
	}
	if s.Every > 0 && (s.For == 0 || s.For > s.Every) {
		return fmt.Errorf("for: %s must be above 0 and at most every %s", s.For, s.Every)
	}
	return nil
}

// Validate returns an error if a failure is invalid.
func (f Failure) Validate() error {
	if !slices.Contains([]FailureError{FailureEIO, FailureENOSPC, FailureEROFS, FailureStall}, f.Error) {
		return fmt.Errorf("error: %q must be EIO, ENOSPC, EROFS or stall", f.Error)
	}
	if (f.Error == FailureStall) != (f.Stall > 0) {
		return fmt.Errorf("stall: %s must be above 0 for the error stall and absent for others (error: %s)", f.Stall, f.Error)
	}
	if err := times("stall", f.Stall); err != nil {
		return err
	}
	for _, kind := range f.Kinds {
		if !slices.Contains([]Kind{Read, Write, Sync, Create, Change}, kind) {
			return fmt.Errorf("kinds: %q must be read, write, sync, create or change", kind)
		}
	}
	if _, err := path.Match(f.Path, ""); err != nil {
		return fmt.Errorf("path: %q is no pattern: %w", f.Path, err)
	}
	if f.Count < 0 || f.Probability < 0 || f.Probability > 1 {
		return fmt.Errorf("count %d must not be below 0, probability %g must lie between 0 and 1", f.Count, f.Probability)
	}
	return f.Schedule.validate()
}

func hasKind(kinds []Kind, kind Kind) bool { return len(kinds) == 0 || slices.Contains(kinds, kind) }
