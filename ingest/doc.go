// Package ingest turns trace dumps into traces: files in, a [Dump] of [Trace]
// values out. It decides nothing about deadlines; it keeps what was recorded,
// repairs what can be repaired without guessing, and says so in notes.
//
// What goes in: files, folders, patterns and standard input, told apart by
// content and never by name.
//
//	form                                                   sign
//	OTLP JSON: lines, pretty-printed, several a line,      { or [
//	  or in an array
//	OTLP protobuf, one message or several back to back     field 1
//	the same with a big-endian length before each message  a chain of lengths
//	a length and one zstd frame a message                  a chain of lengths
//	Jaeger (UI, API, protobuf JSON, Elasticsearch),        keys of an object, in
//	  Zipkin 1 and 2, Tempo, Aspire, bare ResourceSpans,   an answer's envelope
//	  stdouttrace of Go, consoles of Python and PHP,       or not (jsonForms)
//	  spans of JavaScript's SDK, otel-cli, rows of
//	  ClickHouse, Tinybird, SigNoz, GreptimeDB,
//	  OpenObserve, Axiom, Logfire, Application Insights,
//	  VictoriaTraces and Quickwit, documents of
//	  OpenSearch, Elasticsearch, Splunk, CloudWatch,
//	  Google's Cloud Trace and Vector, spans with ids, a
//	  start and an end of whoever wrote them
//	Jaeger protobuf: spans back to back, or a batch        an id of 16 bytes, one of 8
//
// Around any of these, several times: gzip, zstd (bzip2, zlib, snappy), tar, zip, UTF-16, the log of a
// container (CRI, Docker), the prefix of a logger, those of docker compose, kubectl and
// syslog. What is known and not read is refused by name, with what would do (signs).
//
// What comes out: one Trace for each trace id over all inputs, and one for each
// span without a trace id. The result does not depend on the order of the
// inputs, on how spans are spread over them, nor on the number of workers,
// apart from Span.File and Span.Position.
//
// The pipeline:
//
//  1. expand (files.go) turns paths into a sorted list of files.
//  2. tell (sniff.go) finds the form by the first bytes; take (unwrap.go,
//     archive.go, loglines.go, prefixes.go) unwraps until nothing is left to unwrap.
//  3. split.go cuts the content into units that can be decoded alone, a long
//     value inside (stretch.go); rotate.go joins a line that was cut between two
//     files. Several files are read at once (reading.go).
//  4. Workers (worker.go) decode units into records: jsontext.go, otlpjson.go
//     and jsonvalue.go on top of json.go, and one file for each other form of
//     JSON on top of native.go; proto.go and protovalue.go on top of
//     protowire.go; jaegerproto.go; pdatadecoder.go. Attributes and events that Options does not ask for are
//     skipped without being built, and what has the usual shape is read by the
//     short ways of jsonusual.go, usualFields and usualAttributes, which foretell
//     what comes next (shape.go). All end in a
//     sink (sink.go), which packs the records (record.go). What spans repeat, keys
//     in their order (keylist.go) and values (text.go), is told by what came lately.
//  5. Store.Part (store.go) collects the records of each trace id, part by part, unpacks
//     them, and says which spans are alike (unpacker.go).
//  6. assemble (assemble.go, link.go) builds each trace: place spans in time,
//     sort, drop copies, link parents, cut cycles, note.
//
// [FromTraces] enters at step 4 with data that is already in memory, [NewTrace]
// at step 6 with spans.
//
// Terms:
//
//   - content: the bytes of a file, or of a file in an archive, after all
//     unwrapping. Positions are offsets in it.
//   - value: one JSON value at the top level of a text. message: one protobuf
//     message.
//   - unit: a piece of content that one worker decodes.
//   - record: a span with its trace id, on its way to its trace.
//   - note: a repair or a doubt, as data.
//
// Damage costs as little as possible. A bad span costs itself; garbage between
// values costs the bytes up to the next line that starts a value; a file that
// breaks off gives what came before. A span whose resource is not known when
// its message breaks off is lost with it: nobody knows whose it is.
//
// Nothing is allocated because a length says so, only for bytes that are
// there, and no value or message is held beyond 256 MiB. One file at a time is
// held beyond 16 MiB.
package ingest
