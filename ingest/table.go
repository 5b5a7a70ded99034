package ingest

// APIs of databases answer with a table: the names of the columns once, and each row as a
// list of values. A row is read as the object that it stands for, so that its form is told
// as that of any other:
//
//	{"columns":[{"name":"a","type":"x"},{"name":"b","type":"x"}],"rows":[[1,2],[3,4]]}
//
// Positions are that of the row in the content, plus the offset in the object.

// maxColumnName is how long the name of a column may be; what has a longer one is left
// out. As each row repeats all names, they bound how much is read for a byte of a row.
const maxColumnName = 256

// columnNames reads a list of objects that describe columns, and returns their names as they
// are written, nil for one that is left out.
func (t *jsonText) columnNames() (names [][]byte) {
	t.list(func() {
		var name []byte
		t.only("name", func() {
			at := t.skipTo()
			if t.why == "" && t.buf[at] == '"' && t.pos-at <= maxColumnName {
				name = t.buf[at:t.pos]
			}
		})
		names = append(names, name)
	})
	return names
}

// tableRows reads the rows in the list at the index.
func (t *jsonText) tableRows(names [][]byte, rows int) {
	if t.envelopes == maxEnvelopes {
		t.fail("too many envelopes in each other")
		return
	}
	t.envelopes++
	defer func() { t.envelopes-- }()
	var text []byte
	t.readAt(rows, func() {
		t.list(func() {
			if t.peek() != '[' {
				t.skip()
				return
			}
			start, n := t.pos, 0
			text = append(text[:0], '{')
			t.list(func() {
				if at := t.skipTo(); n < len(names) && names[n] != nil && t.why == "" {
					if len(text) > 1 {
						text = append(text, ',')
					}
					text = append(append(append(text, names[n]...), ':'), t.buf[at:t.pos]...)
				}
				n++
			})
			if t.why != "" {
				return
			}
			why := "a row that has not as many values as the table has columns"
			if n == len(names) {
				text = append(text, '}')
				why = t.embed(text, t.offsetOf(start), t.pos, func() { t.top() })
			}
			if why != "" {
				t.unreadable(t.offsetOf(start), int64(t.pos-start), why)
			}
		})
	})
}

// table reads a table whose columns and rows stand beside each other.
func (t *jsonText) table(o *object) {
	var names [][]byte
	t.readAt(o.member("columns"), func() { names = t.columnNames() })
	t.tableRows(names, o.member("rows"))
}
