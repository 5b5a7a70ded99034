package ingest

import (
	"bytes"
	"compress/bzip2"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zlib"
)

// Packings beside gzip and zstd, which stores and brokers use. Those for which
// there is no reader at hand are refused by name (signs).

// isBzip2 takes the magic bytes and those of the first block.
func isBzip2(head []byte) bool {
	return bytes.HasPrefix(head, []byte("BZh")) && len(head) >= 10 && head[3] >= '1' && head[3] <= '9' && string(head[4:10]) == "1AY&SY"
}

func (f *source) bunzip2() error {
	f.wrap(bzip2.NewReader(f.r))
	return nil
}

// isZlib takes the header of RFC 1950 with a window of 32 KiB, whose two bytes
// are a multiple of 31.
func isZlib(head []byte) bool {
	return len(head) > 6 && head[0] == 0x78 && (head[1] == 0x01 || head[1] == 0x9c || head[1] == 0xda)
}

func (f *source) inflate() error {
	z, err := zlib.NewReader(f.r)
	if err != nil {
		return err
	}
	f.wrap(z)
	return nil
}

// isSnappy takes the framing format, which S2 shares.
func isSnappy(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\xff\x06\x00\x00sNaPpY")) || bytes.HasPrefix(head, []byte("\xff\x06\x00\x00S2sTwO"))
}

func (f *source) unsnappy() error {
	f.wrap(s2.NewReader(f.r, s2.ReaderMaxBlockSize(4<<20)))
	return nil
}
