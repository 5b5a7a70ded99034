package ingest

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/zstd"
)

// A worker decodes units.
type worker struct {
	*job
	*sink
	zstd  *zstd.Decoder
	frame []byte // unpacked message
	json  *jsonText
	proto *protoBytes
}

func (w *worker) run() {
	byPdata := w.o.Decoder == PdataDecoder
	w.packing = true
	w.json = &jsonText{sink: w.sink, byPdata: byPdata}
	w.proto = &protoBytes{sink: w.sink, byPdata: byPdata}
	for u := range w.units {
		if w.ctx.Err() == nil && w.spooler.Err() == nil {
			w.file, w.index = u.path, u.file
			before := w.sink.found[u.file].spans
			u.decode(w, u)
			w.spans.Add(w.sink.found[u.file].spans - before)
			w.flush()
		}
		w.inFlight.give(cap(u.data))
		w.free.put(u.data)
	}
	if w.zstd != nil {
		w.zstd.Close()
	}
}

// text decodes a run of JSON values.
func (w *worker) text(u unit) {
	w.json.lead, w.json.headless = min(u.lead, len(u.data)), u.astray
	inside := w.json.decode(u.data, u.base, u.tail)
	w.json.lead, w.json.headless = 0, false
	if u.tail == endOfInput {
		w.sink.found[u.file].ends = u.base + int64(len(u.data))
	}
	if !inside && u.tail != "" && u.tail != endOfInput && u.tail != tooLong {
		w.cutOff(u.base+int64(len(u.data)), 0, u.tail)
	}
}

// chain decodes messages with their length in front. The last may be cut off.
func (w *worker) chain(u unit) {
	data := u.data
	for at := 0; at < len(data); {
		base := u.base + int64(at)
		if len(data)-at < 4 {
			w.cutOff(base, int64(len(data)-at), u.tail)
			return
		}
		size := int(binary.BigEndian.Uint32(data[at:]))
		at += 4
		if at+size > len(data) {
			w.message(data[at:], base+4, u.tail)
			return
		}
		w.message(data[at:at+size], base+4, "")
		w.flush()
		at += size
	}
	if u.tail != "" && u.tail != endOfInput {
		w.cutOff(u.base+int64(len(data)), 0, u.tail)
	}
}

// message decodes one message, which is protobuf or JSON, in a zstd frame or
// not. For one in a frame, positions are the offset of the frame in the
// content of the file plus the offset inside what was in the frame.
func (w *worker) message(b []byte, base int64, tail string) {
	if bytes.HasPrefix(b, zstdMagic) {
		why := w.unframe(b)
		if why != "" && tail == "" {
			tail = why
		}
		b = w.frame
	}
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		if tail == "" {
			// The message ends here even if the file does not.
			tail = endOfInput
		}
		if inside := w.json.decode(b, base, tail); !inside && tail != endOfInput {
			w.cutOff(base+int64(len(b)), 0, tail)
		}
		return
	}
	w.protobuf(b, base, tail)
}

// protobuf decodes one message and notes what is missing at its end.
func (w *worker) protobuf(b []byte, base int64, tail string) {
	why, from, to := w.proto.decode(b, base, tail != "")
	switch {
	case why == endOfInput && tail != "":
		w.cutOff(from, to-from, tail)
	case why != "":
		w.unreadable(from, to-from, why)
	case tail != "":
		w.cutOff(base+int64(len(b)), 0, tail)
	}
}

// bare decodes a run of fields of TracesData.
func (w *worker) bare(u unit) {
	tail := u.tail
	if tail == endOfInput {
		// Only if the last field has no end was the input cut off.
		if why, from, to := w.proto.decode(u.data, u.base, true); why == endOfInput {
			w.cutOff(from, to-from, tail)
		} else if why != "" {
			w.unreadable(from, to-from, why)
		}
		return
	}
	w.protobuf(u.data, u.base, tail)
}
