package analyze

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"overrun/ingest"
)

// Connecting as real instrumentations record it. Each case is a program that did a known
// thing, and the spans that it wrote, in ms.

// viewCalls writes the calls of a dump's only trace, by start: where each went, from when to
// when, how it ended and what is known of connecting.
func viewCalls(t *testing.T, d *ingest.Dump) string {
	t.Helper()
	var out []string
	for _, v := range Run(d, Options{}).Views(d.Traces[0]) {
		for _, c := range v.Calls {
			line := fmt.Sprintf("%s, %s %v-%v", c.Callee, c.Operation, c.Start, c.End)
			for _, try := range c.Tries {
				line += " " + try.Outcome.String()
				for _, name := range slices.Sorted(maps.Keys(try.Phases)) {
					line += fmt.Sprintf(" %s %v", name, try.Phases[name])
				}
			}
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func TestConnectingAsRecorded(t *testing.T) {
	const (
		node  = "R - 0 400 k=SERVER s=web lang=nodejs\n"
		plain = "R - 0 400 k=SERVER s=web\n"
		pg    = " k=CLIENT s=web a=db.system.name=postgresql a=server.address=db a=db.namespace=shop"
		sql   = " k=CLIENT s=web a=db.system.name=postgresql"
	)
	for _, test := range []struct{ name, spans, want string }{
		{"Node: what instrumentation-net calls connecting holds what instrumentation-dns calls a lookup, beside it",
			node + "c R 4 199.4" + http200 + "\ntcp.connect c 78 141.6 s=web\ndns.lookup c 83 111.4 k=CLIENT s=web",
			"b, GET 4ms-199.4ms ok dns 28.4ms tcp 35.2ms"},
		{"node-postgres, a pool of one and two queries at once: the second waits until the first is done",
			node + "pg-pool.connect#1 R 1 1.6" + pg + "\npg-pool.connect R 1 104" + pg + "\npg.query:SELECT#1 R 2 103.7" + pg + "\npg.query:SELECT R 103 159.6" + pg,
			"postgresql shop db, pg.query:SELECT 1ms-103.7ms ok pool 600µs\npostgresql shop db, pg.query:SELECT 1ms-159.6ms ok pool 103ms"},
		{"pgx, the same",
			plain + "pool.acquire#1 R 0.2 0.3" + pg + "\nSELECT#1 R 0.4 114.2" + pg + "\npool.acquire R 0.5 114.2" + pg + "\nSELECT R 114.3 226.2" + pg,
			"postgresql shop db, SELECT 200µs-114.2ms ok pool 100µs\npostgresql shop db, SELECT 500µs-226.2ms ok pool 113.7ms"},
		{"pgx: two queries at once, each on a new connection",
			plain + "pool.acquire#1 R 1 21" + pg + "\npool.acquire#2 R 1.1 21.3" + pg + "\nSELECT#1 R 21.1 50" + pg + "\nSELECT#2 R 21.4 60" + pg,
			"postgresql shop db, SELECT 1ms-50ms ok pool 20ms\npostgresql shop db, SELECT 1.1ms-60ms ok pool 20.2ms"},
		{"otelsql: a connection, a transaction on it, and a statement in that",
			plain + "sql.conn.reset_session R 0 0.01" + sql + " st=ERROR\nsql.connector.connect R 0.1 28.8" + sql + "\nsql.conn.begin_tx R 29 38.1" + sql + "\nsql.conn.exec R 38.3 88.8" + sql,
			"postgresql, sql.conn.exec 0s-88.8ms ok connect 37.81ms"},
		{"node-postgres: while one client is held, another is waited for, and not longer than 80 ms",
			node + "pg-pool.connect#1 R 0 14.1" + pg + "\npg.connect pg-pool.connect#1 2 13.5" + pg + "\npg-pool.connect R 14 99.5" + pg + " st=ERROR a=exception.message=timeout_exceeded_when_trying_to_connect",
			"postgresql shop db, pg-pool.connect 14ms-99.5ms pool-timeout pool 85.5ms"},
		{"node-postgres: nobody listens",
			node + "pg-pool.connect R 1 4.8" + pg + " st=ERROR a=exception.message=connect_ECONNREFUSED_192.0.2.1:5432\npg.connect pg-pool.connect 1 3.8" + pg + " st=ERROR",
			"postgresql shop db, pg-pool.connect 1ms-4.8ms refused connect 2.8ms pool 1ms"},
		{"pgx: the pool has nothing free until the caller's time is over, while another query runs",
			plain + "SELECT R 0.1 101" + pg + "\npool.acquire R 33.8 89.5" + pg + " st=ERROR a=exception.type=context.deadlineExceededError",
			"postgresql shop db, SELECT 100µs-101ms ok\npostgresql shop db, pool.acquire 33.8ms-89.5ms pool-timeout pool 55.7ms"},
		{"pgx: the caller's time is over while it connects",
			plain + "pool.acquire R 1 81" + pg + " st=ERROR a=exception.type=context.deadlineExceededError\nconnect pool.acquire 1.1 80.9" + pg + " st=ERROR",
			"postgresql shop db, pool.acquire 1ms-81ms connect-timeout connect 79.8ms pool 200µs"},
		{"ioredis: the first command waits while a connection says who it is; an old server does not know a part of that",
			node + "get R 3 22.3 k=CLIENT s=web a=db.system.name=redis a=db.query.text=get_a\n" +
				"hello R 6 9.2 k=CLIENT s=web a=db.system.name=redis a=db.query.text=hello_[1_other_arguments]\n" +
				"client R 8 14.1 k=CLIENT s=web a=db.system.name=redis a=db.query.text=client_SETINFO_LIB-VER_6.0.0 st=ERROR\n" +
				"info R 15 19.7 k=CLIENT s=web a=db.system.name=redis a=db.query.text=info",
			"redis, get 3ms-22.3ms ok connect 12.8ms"},
		{"otelsql: no reason was recorded",
			plain + "sql.connector.connect R 1 6" + sql + " st=ERROR",
			"postgresql, sql.connector.connect 1ms-6ms connect-error connect 5ms"},
	} {
		t.Run(test.name, func(t *testing.T) {
			spans := test.spans
			if root, rest, ok := strings.Cut(spans, node); ok && root == "" {
				spans = node + strings.ReplaceAll(rest, " s=web", " s=web lang=nodejs")
			}
			d := worked(t, spans)
			for i := range d.Traces[0].Spans {
				if strings.HasPrefix(test.name, "ioredis") {
					d.Traces[0].Spans[i].Scope = "@opentelemetry/instrumentation-ioredis"
				}
				for k := range d.Traces[0].Spans[i].Attrs { // the notation has no blanks
					a := &d.Traces[0].Spans[i].Attrs[k]
					a.Value = strings.ReplaceAll(a.Value, "_", " ")
				}
			}
			want(t, "calls", viewCalls(t, d), test.want)
		})
	}
}

func TestConnectingByEvents(t *testing.T) {
	// otelhttptrace without spans of its own, with one connection: the first request opens it, the
	// second waits for it until the first is done.
	d := worked(t, "R - 0 250 k=SERVER s=web\nc R 0.1 101.6"+http200+"\nd R 0.5 203.2"+http200)
	record := func(span int, reused string, events ...any) {
		for i := 0; i < len(events); i += 2 {
			e := ingest.Event{Name: events[i].(string), At: ms(events[i+1].(float64))}
			if e.Name == "http.getconn.done" {
				e.Attrs = []ingest.Attr{{Key: "http.conn.reused", Value: reused}}
			}
			d.Traces[0].Spans[span].Events = append(d.Traces[0].Spans[span].Events, e)
		}
	}
	record(1, "False", "http.getconn.start", .2, "http.connect.192.0.2.1:80.start", .3, "http.connect.192.0.2.1:80.done", .6,
		"http.getconn.done", .7, "http.send.start", .9, "http.send.done", 1.0, "http.receive.start", 101.5, "http.receive.done", 101.6)
	record(2, "True", "http.getconn.start", .6, "http.getconn.done", 101.7, "http.send.start", 101.7, "http.send.done", 101.8,
		"http.receive.start", 203.0, "http.receive.done", 203.2)
	want(t, "calls", viewCalls(t, d), "b, GET 100µs-101.6ms ok pool 200µs receiving 100µs send 100µs tcp 300µs waiting 100.5ms\n"+
		"b, GET 500µs-203.2ms ok pool 101.1ms receiving 200µs send 100µs waiting 101.2ms")
}

// A connection came free while Go dialled another one, with which it went on: that counts no
// further (semantics, C1).
func TestDialGoesOn(t *testing.T) {
	const calls = "b, GET 0s-40ms ok pool 3ms tcp 5ms"
	d := worked(t, "R - 0 250 k=SERVER s=web\nc R 0 40"+http200+"\nhttp.getconn c 1 9 s=web\nhttp.connect http.getconn 4 20 s=web")
	want(t, "spans", viewCalls(t, d), calls)
	d = worked(t, "R - 0 250 k=SERVER s=web\nc R 0 40"+http200)
	d.Traces[0].Spans[1].Events = []ingest.Event{{Name: "http.getconn.start", At: ms(1)}, {Name: "http.connect.192.0.2.1:80.start", At: ms(4)},
		{Name: "http.getconn.done", At: ms(9)}, {Name: "http.connect.192.0.2.1:80.done", At: ms(20)}}
	want(t, "events", viewCalls(t, d), calls)
}
