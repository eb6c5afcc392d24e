// Package lab boots virtual machines with a real kernel: file systems, protocols and disks that nobody here wrote.
//
//	machine (QEMU, emulated)                 host
//	  Debian's cloud kernel, busybox, fio      smbd on a port of its own
//	  cifs, nfs, ext4, xfs, dm-*               images of throttled disks
//	  script ──────── serial line ──────────▶  Output
//	  10.0.2.15 ───── user networking ──────▶  10.0.2.2
//
// A machine runs one script and powers off. It needs no right but to start processes: no /dev/kvm, no bridge, no mount of
// the host. Everything comes from Debian's packages; the kernel's is unpacked into the cache (Cache), by its version. Use it
// from soak tests: emulated, a machine is up in six seconds on an idle computer and in a minute on a busy one.
package lab
