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

// tableRows reads the rows in the list at the index, which may be objects already.
func (t *jsonText) tableRows(o *object, names [][]byte, rows int) {
	t.inTable(o, func() (some bool) {
		var values []int32
		var text []byte
		t.readAt(rows, func() {
			t.list(func() {
				some = true
				if t.peek() != '[' {
					t.objectsIn(0)
					return
				}
				start := t.pos
				values = values[:0]
				t.list(func() { values = append(values, int32(t.skipTo())) })
				if t.why == "" {
					text = t.tableRow(names, values, start, text)
				}
			})
		})
		return some
	})
}

// tableColumns reads the rows of a table that has a list for each column at the index.
func (t *jsonText) tableColumns(o *object, names [][]byte, columns int) {
	t.inTable(o, func() (some bool) {
		var values [][]int32
		t.readAt(columns, func() {
			t.list(func() {
				var column []int32
				t.list(func() { column = append(column, int32(t.skipTo())) })
				values = append(values, column)
			})
		})
		if t.why != "" || len(values) == 0 {
			return false // broken off within a column: the rows are not known
		}
		if len(values) != len(names) {
			t.fail("a table that has not as many columns as names of them")
			return true
		}
		row, text := make([]int32, len(values)), []byte(nil)
		for n := range values[0] {
			for i := range values {
				if len(values[i]) != len(values[0]) {
					t.fail("a table whose columns are not equally long")
					return some
				}
				row[i] = values[i][n]
			}
			text = t.tableRow(names, row, int(row[0]), text)
			some = true
		}
		return some
	})
}

// inTable counts a table among the envelopes, and says so if it had no rows.
func (t *jsonText) inTable(o *object, read func() (some bool)) {
	if t.envelopes == maxEnvelopes {
		t.fail("too many envelopes in each other")
		return
	}
	t.envelopes++
	defer func() { t.envelopes-- }()
	if !read() && t.why == "" {
		t.odd(t.offsetOf(o.start), o.form.name)
	}
}

// tableRow reads the row that begins at the index, and whose values are at those. It makes
// its object in the room, which it returns for the next one.
func (t *jsonText) tableRow(names [][]byte, values []int32, start int, room []byte) []byte {
	why, end := "a row that has not as many values as the table has columns", max(t.pos, start)
	if len(values) == len(names) {
		room = append(room[:0], '{')
		for i, at := range values {
			if names[i] == nil {
				continue
			}
			if len(room) > 1 {
				room = append(room, ',')
			}
			t.pos = int(at)
			t.skip()
			room = append(append(append(room, names[i]...), ':'), t.buf[at:t.pos]...)
		}
		t.pos = end
		room = append(room, '}')
		why = t.embed(room, t.offsetOf(start), func() { t.top() })
		t.saved = max(t.saved, end)
	}
	if why != "" {
		t.unreadable(t.offsetOf(start), int64(end-start), why)
	}
	return room
}

// table reads a table whose columns and rows stand beside each other.
func (t *jsonText) table(o *object) {
	var names [][]byte
	t.readAt(o.member("columns"), func() { names = t.columnNames() })
	t.tableRows(o, names, o.member("rows"))
}
