package v1alpha1

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The API accepts a size in plain bytes, such as 64000, but refuses 64k, because fio and IOR mean 64Ki by it. Quantity
// formats 64000 as 64k, so a Go program that reads an object and updates it would be refused. The types with size
// fields therefore encode them without a decimal suffix. FioOverride, IOROverride and SweepAxes leave this to the types
// that contain them, because controller-gen cannot apply MinProperties to a type with its own MarshalJSON.

// page is 4 KiB. The size of a dataset or file may have a decimal suffix if it is a multiple of page.
const page = 4096

// plainSize rewrites a size with a decimal suffix, such as 64k, without one. A multiple of decimalUnit keeps its
// suffix, unless decimalUnit is 0. Sizes without a decimal suffix and sizes that are not whole numbers are returned
// unchanged.
func plainSize(size *resource.Quantity, decimalUnit int64) *resource.Quantity {
	if size == nil || size.Format != resource.DecimalSI {
		return size
	}
	whole, exact := size.AsInt64()
	if !exact || whole%1000 != 0 || decimalUnit > 0 && whole%decimalUnit == 0 {
		return size
	}
	if whole == 1000 {
		// Do not use BinarySI: below 1Ki, Quantity formats BinarySI values with a decimal suffix, so 1000 would become 1k.
		return resource.NewQuantity(whole, resource.DecimalExponent)
	}
	return resource.NewQuantity(whole, resource.BinarySI)
}

// marshal encodes a value like json.Marshal, but leaves HTML escaping to the calling encoder.
func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// MarshalJSON implements json.Marshaler.
func (p FioProfile) MarshalJSON() ([]byte, error) {
	type plain FioProfile
	p.BlockSize, p.DatasetSize = plainSize(p.BlockSize, 0), *plainSize(&p.DatasetSize, page)
	return marshal(plain(p))
}

// MarshalJSON implements json.Marshaler.
func (c Compressibility) MarshalJSON() ([]byte, error) {
	type plain Compressibility
	c.ChunkSize = plainSize(c.ChunkSize, 0)
	return marshal(plain(c))
}

// MarshalJSON implements json.Marshaler.
func (o WorkloadOverride) MarshalJSON() ([]byte, error) {
	type plain WorkloadOverride
	if o.Fio != nil {
		fio := *o.Fio
		fio.BlockSize = plainSize(fio.BlockSize, 0)
		o.Fio = &fio
	}
	if o.IOR != nil {
		ior := *o.IOR
		ior.TransferSize = plainSize(ior.TransferSize, 0)
		o.IOR = &ior
	}
	return marshal(plain(o))
}

// MarshalJSON implements json.Marshaler.
func (p IORProfile) MarshalJSON() ([]byte, error) {
	type plain IORProfile
	p.TransferSize, p.BlockSize = *plainSize(&p.TransferSize, 0), *plainSize(&p.BlockSize, page)
	return marshal(plain(p))
}

// MarshalJSON implements json.Marshaler.
func (p MdtestProfile) MarshalJSON() ([]byte, error) {
	type plain MdtestProfile
	p.FileSize, p.ReadSize = plainSize(p.FileSize, page), plainSize(p.ReadSize, page)
	return marshal(plain(p))
}

// MarshalJSON implements json.Marshaler.
func (r ProfileRef) MarshalJSON() ([]byte, error) {
	type plain ProfileRef
	r.DatasetSize = plainSize(r.DatasetSize, page)
	return marshal(plain(r))
}

// MarshalJSON implements json.Marshaler.
func (p SweepPhase) MarshalJSON() ([]byte, error) {
	type plain SweepPhase
	sizes := p.Axes.BlockSize
	p.Axes.BlockSize = nil
	for i := range sizes {
		p.Axes.BlockSize = append(p.Axes.BlockSize, *plainSize(&sizes[i], 0))
	}
	return marshal(plain(p))
}
