package main

import "golang.org/x/sys/unix"

// adviseHugePages asks that the memory lie in huge pages. A system without them has
// nothing to lose.
func adviseHugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
