package ingest

import "bytes"

// insightsRow reads a row of Application Insights: of its tables requests and dependencies, or
// of AppRequests and AppDependencies of a workspace of Azure Monitor, which name the same
// columns otherwise. The time is the start, the duration is in milliseconds, the operation is
// the trace. Attributes that have no column are in an object, or in its text.
//
// A request is what a service was asked for, by a call or by a message; a dependency is what
// it asked for, or work of its own, whose type is InProc. More is not said of the kind.
// An item stands for so many as itemCount says. Where the operation itself is the parent,
// there is none. Events and links have no place.
//
// References: learn.microsoft.com/azure/azure-monitor/reference/tables, AppRequests and
// AppDependencies; the collector's exporter/azuremonitorexporter (trace_to_envelope.go).
func (t *jsonText) insightsRow(o *object) {
	kind := Unspecified
	t.readAt(max(o.member("itemType"), o.member("Type")), func() {
		switch string(t.word()) {
		case "request", "AppRequests":
			kind = Server
		case "dependency", "AppDependencies":
			kind = Client
		}
	})
	if kind == Unspecified {
		if !o.cut {
			t.otherSignal(t.offsetOf(o.start)) // a trace of theirs is a line of a log
		}
		return
	}
	t.alone(o.start, func(t *jsonText, r *record) {
		r.span.Kind = kind
		t.insightsFields(r)
	})
}

func (t *jsonText) insightsFields(r *record) {
	c := clock{}
	var operation, parent []byte
	var url, code, data int
	http := false
	t.object(func(key []byte) {
		switch string(key) {
		case "timestamp", "TimeGenerated":
			c.start = t.instant()
		case "duration", "DurationMs":
			c.duration, c.lasts = t.amount(6)
		case "operation_Id", "OperationId":
			operation = bytes.Clone(t.text())
			t.anyID(r.trace[:], t.pos, operation)
		case "id", "Id":
			t.id(r.span.ID[:])
		case "operation_ParentId", "ParentId":
			parent = bytes.Clone(t.text())
		case "name", "Name":
			r.span.Name = t.cache.get(t.text())
		case "success", "Success":
			if bytes.EqualFold(t.word(), []byte("false")) {
				r.span.Status = Error
			}
		case "type", "DependencyType":
			text := bytes.ToLower(t.text())
			http = http || bytes.HasPrefix(text, []byte("http"))
			if bytes.HasPrefix(text, []byte("inproc")) {
				r.span.Kind = Internal
			}
		case "url", "Url":
			url = t.skipTo()
		case "data", "Data":
			data = t.skipTo()
		case "resultCode", "ResultCode":
			code = t.skipTo()
		case "itemCount", "ItemCount":
			if n := t.word(); len(n) > 0 {
				t.field("SampleRate", n, false)
			}
		case "cloud_RoleName", "AppRoleName":
			t.serviceName(t.text())
		case "cloud_RoleInstance", "AppRoleInstance":
			if text := t.text(); len(text) > 0 {
				t.field("service.instance.id", text, true)
			}
		case "customDimensions", "Properties":
			t.attributesWithin(false)
		default:
			t.skip()
		}
	})
	if !bytes.Equal(parent, operation) {
		t.parent(r.span.ParentID[:], parent)
	}
	if http = t.columnField(url, "url.full") || http; http { // of a request, which has no type, the URL says it
		t.columnField(data, "url.full")
		t.columnField(code, "http.response.status_code")
	}
	start, end := c.times()
	t.finish(r, start, end)
}

// columnField makes an attribute of the column at the index, if that says something.
func (t *jsonText) columnField(at int, key string) (some bool) {
	t.readAt(at, func() {
		if text := t.word(); len(text) > 0 {
			some = true
			t.field(key, text, false)
		}
	})
	return some
}
