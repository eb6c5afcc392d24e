package limits

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Values that the catalog accepts in place of the size of a bucket.
const (
	bucketUnpublished = "unpublished"
	bucketBilled      = "billed"
)

func parseLimit(node *yaml.Node) (limitRow, error) {
	var text limitText
	if err := strictly(node, &text); err != nil {
		return limitRow{}, err
	}
	made := limitRow{name: text.Name, layer: text.Layer, operation: text.Operation, traffic: text.Traffic, note: text.Note,
		raised: text.Compression != "", passed: text.CachedReads != ""}
	if text.Name == "" {
		return made, errors.New("name: missing; set a name such as disk throughput")
	}
	for _, err := range []error{
		oneOf("layer", text.Layer, LayerInstance, LayerFlow, LayerNetwork, LayerDisk, LayerVolume),
		oneOf("operation", text.Operation, Both, Read, Write),
		oneOf("traffic", text.Traffic, anyTraffic, fileTraffic, blockTraffic, cachedTraffic),
		oneOf("compression", text.Compression, "", "Raises"),
		oneOf("cachedReads", text.CachedReads, "", "Pass"),
		made.sizes(text),
		made.rates(text),
		made.credits(text),
	} {
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// sizes parses the range of capacities for which the limit applies, and the largest size of an operation that counts as
// a single operation.
func (l *limitRow) sizes(text limitText) (err error) {
	for _, one := range []struct {
		field, text string
		into        *float64
	}{{"above", text.Above, &l.above}, {"upTo", text.UpTo, &l.upTo}, {"operationUnit", text.OperationUnit, &l.operationUnit}} {
		if *one.into, err = amountOf(one.field, one.text, byteAmount); err != nil {
			return err
		}
	}
	if l.upTo > 0 && l.upTo <= l.above {
		return errors.New("upTo: must be greater than `above`; swap the two values")
	}
	return nil
}

// rates parses baseline and burst, which must have the same dimension.
func (l *limitRow) rates(text limitText) (err error) {
	if text.Baseline.IsZero() {
		return errors.New("baseline: missing; set a rate with its unit, such as 150 MB/s")
	}
	if l.baseline, err = parseFigure(&text.Baseline, byteRate, operationRate); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if l.baseline.times > 0 {
		return errors.New("baseline: times is a multiple of the baseline and cannot define it; use times only in burst")
	}
	counts := l.baseline.kind
	if counts != operationRate && l.operationUnit > 0 {
		return errors.New("operationUnit: applies only to limits of operations per second; remove it")
	}
	if !text.Burst.IsZero() {
		if l.burst, err = parseFigure(&text.Burst, counts); err != nil {
			return fmt.Errorf("burst: %w", err)
		}
		l.burst.kind = counts
	}
	if text.Regional != nil {
		if text.Regional.Burst.IsZero() || len(text.Regional.Regions) == 0 || l.burst == nil {
			return errors.New("regional: set its burst and regions, and the limit's own burst for other regions")
		}
		if l.regionalBurst, err = parseFigure(&text.Regional.Burst, counts); err != nil {
			return fmt.Errorf("regional.burst: %w", err)
		}
		l.regions = text.Regional.Regions
	}
	return nil
}

// credits parses the bucket of a burst, which is given as its size, as the length of the burst, or as a word if the
// size is not published or the burst is billed.
func (l *limitRow) credits(text limitText) (err error) {
	if l.burst == nil {
		if !text.Bucket.IsZero() || text.BurstSeconds != "" || !text.Refill.IsZero() {
			return errors.New("bucket, burstSeconds and refill need a burst; set burst, or remove them")
		}
		return nil
	}
	if text.Bucket.IsZero() == (text.BurstSeconds == "") {
		return fmt.Errorf("burst: set exactly one of bucket (its size, %s or %s) and burstSeconds (how long the burst lasts, from a full bucket)", bucketUnpublished, bucketBilled)
	}
	amounts := byteAmount
	if l.baseline.kind == operationRate {
		amounts = ioAmount
	}
	switch {
	case text.Bucket.IsZero():
		l.burstSeconds, err = amountOf("burstSeconds", text.BurstSeconds, duration)
	case isWord(&text.Bucket, bucketUnpublished):
		l.unpublished = true
	case isWord(&text.Bucket, bucketBilled):
		l.billed = true
	default:
		if l.bucket, err = parseFigure(&text.Bucket, amounts); err != nil {
			err = fmt.Errorf("bucket: %w", err)
		}
	}
	if err == nil && !text.Refill.IsZero() {
		if l.unpublished || l.billed {
			return errors.New("refill: applies only to a bucket with a size; remove it")
		}
		if l.refill, err = parseFigure(&text.Refill, l.baseline.kind); err != nil {
			err = fmt.Errorf("refill: %w", err)
		}
	}
	return err
}

func isWord(node *yaml.Node, word string) bool {
	return node.Kind == yaml.ScalarNode && node.Value == word
}
