//go:build !linux

package main

// adviseHugePages does nothing: other systems choose the size of pages themselves.
func adviseHugePages([]byte) {}
