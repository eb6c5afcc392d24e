// Package lab boots virtual machines with a real kernel, to test with real file systems, protocols and disks.
//
//	machine (QEMU, emulated)                 host
//	  Debian's cloud kernel, busybox, fio      smbd on a port of its own
//	  cifs, nfs, ext4, xfs, dm-*               images of throttled disks
//	  script ──────── serial line ──────────▶  Output
//	  10.0.2.15 ───── user networking ──────▶  10.0.2.2
//
// A machine runs one script and powers off. It needs no privileges: no /dev/kvm, no bridge, no mount on the host. All
// programs come from Debian packages; the image that machines boot from is kept in the cache (Cache), by version. Use
// this package in soak tests only: an emulated machine boots in six seconds on an idle computer and in a minute on a
// busy one.
package lab
