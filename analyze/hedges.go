package analyze

// hedgeTable says which marks tell the copies of a hedged call. What only the
// times of siblings tell (H3, H5, H6) is not here.
var hedgeTable = newTable(hedgeRules())

func hedgeRules() []rule[hedgeSays] {
	const finagle = "twitter/finagle BackupRequestFilter.scala, server/BackupRequest.scala"
	mark := func(id string, says hedgeSays, source string, when sign) rule[hedgeSays] {
		return rule[hedgeSays]{id: id, priority: byHedgeMark, source: source, when: when, says: says}
	}
	return []rule[hedgeSays]{
		mark("H1", hedgeWon, finagle, sign{event: "Client Backup Request Won"}),
		mark("H1", hedgeLost, finagle, sign{event: "Client Backup Request Lost"}),
		{id: "H1", priority: byHedgeMark, order: 1, source: finagle, when: sign{event: "Client Backup Request Issued"}, says: hedgeSent},
		{id: "H1", priority: byHedgeMark, order: 1, source: finagle, when: sign{has: []attrIs{{key: "clnt/backup_request_span_id"}}}, says: hedgeSent},
		mark("H1", isHedge, finagle, sign{has: []attrIs{{key: "srv/backup_request_processing", is: "true"}}}),
		mark("H2", hedgeLost, "grpc-java RetriableStream.java", sign{text: "stream thrown away because retriablestream committed"}),
		mark("H4", mayHaveLost, "envoyproxy/envoy upstream_request.cc; found in public code",
			sign{kinds: clientKind, name: "router * egress", has: []attrIs{{key: "canceled", is: "true"}}}),
	}
}

// hedgeOf says which copy of a hedged call a span is, and by which rule; "":
// no mark.
func hedgeOf(f *facts) (hedgeSays, string) {
	if r := f.tables.hedges.first(f); r != nil {
		return r.says, r.id
	}
	return 0, ""
}
