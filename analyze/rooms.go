package analyze

// A roomList is the memory that the requests of one stored trace leave to those of the
// next.
type roomList struct {
	rooms []*requestRoom
	list  []*request
	head  heading
}

// read reads a stored trace whole. What it returns holds until the next. d.wrong tells
// whether it was one.
func (l *roomList) read(d *requestReader, b []byte) (*heading, []*request) {
	d.open(b[sizeBytes:])
	own := d.requestRoom
	defer func() { d.requestRoom = own }()
	l.head = d.heading()
	l.list = l.list[:0]
	for i := 0; i < l.head.requests && !d.wrong; i++ {
		if i == len(l.rooms) {
			l.rooms = append(l.rooms, new(requestRoom))
		}
		d.requestRoom = l.rooms[i]
		r := d.next(l.head.id)
		if g := &r.grounds; g.caller >= int32(i) || g.call >= 0 && (g.caller < 0 || int(g.call) >= len(l.list[g.caller].calls)) {
			d.fail()
		}
		l.list = append(l.list, r)
	}
	if len(d.left()) > 0 {
		d.fail()
	}
	return &l.head, l.list
}
