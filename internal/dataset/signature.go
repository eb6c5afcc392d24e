package dataset

import (
	"bytes"
	"fmt"
	"io"
)

// signature is a magic number that identifies data on a device.
type signature struct {
	name string
	// offset is the position of the magic number, from the start of the device, or from its end if negative.
	offset int64
	magic  string
}

// signatures lists known contents of devices, so that an error can name the data that would have been lost. The check
// for zeros, not this list, establishes that a device is empty.
var signatures = []signature{
	{"an ext2, ext3 or ext4 file system", 0x438, "\x53\xef"},
	{"an XFS file system", 0, "XFSB"},
	{"a Btrfs file system", 0x10040, "_BHRfS_M"},
	{"an NTFS file system", 3, "NTFS    "},
	{"an exFAT file system", 3, "EXFAT   "},
	{"a FAT file system", 0x52, "FAT32"},
	{"a FAT file system", 0x36, "FAT1"},
	{"an F2FS file system", 0x400, "\x10\x20\xf5\xf2"},
	{"a SquashFS file system", 0, "hsqs"},
	{"an ISO 9660 file system", 0x8001, "CD001"},
	{"a ZFS pool", 0x20000, "\x0c\xb1\xba\x00\x00\x00\x00\x00"},
	{"a ZFS pool", 0x21000, "\x0c\xb1\xba\x00\x00\x00\x00\x00"},
	{"an LVM2 physical volume", 0x218, "LVM2 001"},
	{"an LVM2 physical volume", 0x18, "LVM2 001"},
	{"a LUKS encrypted volume", 0, "LUKS\xba\xbe"},
	{"swap space", 4086, "SWAPSPACE2"},
	{"swap space", 65526, "SWAPSPACE2"},
	{"a Linux software RAID member", 4096, "\xfc\x4e\x2b\xa9"},
	{"a Linux software RAID member", 0, "\xfc\x4e\x2b\xa9"},
	{"a Linux software RAID member", -8192, "\xfc\x4e\x2b\xa9"},
	{"a Ceph BlueStore device", 0, "bluestore block device\n"},
	{"a bcache device", 4096 + 24, "\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"},
	{"a GPT partition table", 512, "EFI PART"},
	{"a GPT partition table", 4096, "EFI PART"},
	{"a GPT partition table", -512, "EFI PART"},
	// This signature must be last, because devices with one of the signatures above often have this one too.
	{"a partition table or a boot sector (MBR)", 510, "\x55\xaa"},
}

// findSignature returns the name of the first matching signature, or "" if none matches.
func findSignature(device io.ReaderAt, size int64) (string, error) {
	for _, one := range signatures {
		at := one.offset
		if at < 0 {
			at += size
		}
		if at < 0 || at+int64(len(one.magic)) > size {
			continue
		}
		found := make([]byte, len(one.magic))
		if _, err := device.ReadAt(found, at); err != nil {
			return "", fmt.Errorf("read %d bytes at offset %d: %w", len(found), at, err)
		}
		if bytes.Equal(found, []byte(one.magic)) {
			return one.name, nil
		}
	}
	return "", nil
}
