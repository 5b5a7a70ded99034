package analyze

import "time"

// A part is what a span is to a call: the call itself, an attempt at it, or a
// phase of an attempt. A span has one part; noPart is that of one to be ignored.
type part uint8

const (
	noPart       part = iota
	entryPart         // SERVER or CONSUMER: a request begins
	callPart          // one logical outgoing call
	attemptPart       // one try of a call
	scopePart         // holds the attempts of one call (retry scope)
	poolPart          // waiting for a connection of the pool
	dnsPart           // looking the name up
	tcpPart           // connecting
	tlsPart           // the TLS handshake
	connectPart       // connecting, not told apart further; an envelope of the four above where it holds them
	sendPart          // writing the request
	waitPart          // waiting for the first byte of the answer
	receivePart       // reading the answer
	resolvePart       // gRPC: waiting for name resolution
	pickPart          // gRPC: waiting for a connection that is ready
	backoffPart       // waiting before the next attempt
	queuePart         // a server's own queue
	fallbackPart      // what is done instead of a call
	breakerPart       // around a call that a circuit breaker guards
	ownPart           // work of the service itself

	parts = iota
)

// phase reports whether the part is a stretch of an attempt, never a call.
func (p part) phase() bool { return p >= poolPart && p <= backoffPart }

// A backoffPlace says where the wait before the next attempt is found (3.3).
type backoffPlace uint8

const (
	inGap    backoffPlace = iota // between the end of one attempt and the start of the next
	inTail                       // at the end of the attempt's span: from the end of its last child
	inHead                       // at the start of the next attempt's span: up to its first child
	inEvent                      // from an event to the next child, or an attribute says it
	isHidden                     // not recorded
)

// A phasePlace says where the span of a phase lies that has no call above it.
type phasePlace uint8

const (
	inCall  phasePlace = iota // beside the span of its call, mostly within its time
	ahead                     // it ends as that span begins
	inStead                   // ahead; and where it failed, it is all there is of the call
)

// partSays is what a rule says about the part of a span.
type partSays struct {
	part    part
	backoff backoffPlace // of an attempt or a retry scope
	place   phasePlace   // of a phase
}

// A countKind says what a number of attempts counts.
type countKind uint8

const (
	resends   countKind = iota // resends before this attempt: 0 or absent on the first
	fromOne                    // number of this attempt, the first is 1
	fromRetry                  // number of this retry, the first is 0; not on the first attempt
	allResend                  // resends within this one span, which hides them
	allTries                   // attempts within this one span, which hides them
)

// countSays is what a rule says about the number of an attempt. With event, the
// number is how many events of that name the span has.
type countSays struct {
	key     string // canonical
	field   string // the part of a composite value, such as attempt in "attempt=1; max=3"; "": all of it
	event   string // instead of key: a glob
	kind    countKind
	backoff backoffPlace
}

// phaseSays is how events or attributes of one span bound a phase. from and to
// are globs for names of events, the first that occurs counts; none: the start
// and the end of the span. Where both names have one *, it has to stand for the
// same text. In clock form they are attribute keys with absolute Unix seconds.
type phaseSays struct {
	part     part
	from, to []string
	last     bool // from is the last of its events, not the first
	each     bool // every event of from begins a phase, which ends at the next one of to
	clock    bool // from and to are attributes
	// where, given with each, is what the event that ends the phase says of itself; with not,
	// what it must not say.
	where attrIs
	not   bool
	// length, where given, is an attribute of the event (or, without from, of the
	// span) with the length of the phase, in unit. Without from and with loose the
	// place of the phase within the span is not known.
	length string
	unit   time.Duration
	loose  bool
}

// An outcomeFlag adds detail to an outcome.
type outcomeFlag uint8

const (
	upstreamTimeout outcomeFlag = 1 << iota // somebody further down timed out and an answer said so
	fromText                                // known from words alone
	maybeTimeout                            // cancel or timeout: decide by a known timeout (T16, T21b)
	overload                                // shed: rate limit, breaker, bulkhead
	maybeLeft                               // its caller may have left, in words of its own: decide by what ran beside and below it (T6)
	ofBefore                                // it is the outcome of the attempt before: a call inside may know its own
)

// A flagWord is the word for a flag.
type flagWord struct {
	flag outcomeFlag
	word string
}

// shownFlags are the flags that views show.
var shownFlags = []flagWord{{upstreamTimeout, "upstream-timeout"}, {overload, "overload"}}

func (f outcomeFlag) shown() (list []string) {
	for _, s := range shownFlags {
		if f&s.flag != 0 {
			list = append(list, s.word)
		}
	}
	return list
}

// outcomeSays is what a rule says about how a span ended.
type outcomeSays struct {
	verdict
	flags outcomeFlag
}

// hedgeSays is what a mark says about a copy of a call.
type hedgeSays uint8

const (
	isHedge     hedgeSays = iota // this attempt, or the request it led to, is a second copy
	hedgeSent                    // a second copy of this attempt was sent
	hedgeWon                     // the second copy answered first
	hedgeLost                    // this attempt lost
	mayHaveLost                  // this attempt was cancelled: it lost if a sibling ran beside it, else its caller left
)

// insteadSays is what a rule says about a call that was not made.
type insteadSays uint8

const (
	fallbackUsed insteadSays = iota
	callSkipped              // by a breaker, a bulkhead, a limit, or a deadline that had passed
)

// deadlineSays is how a deadline is written on a span.
type deadlineSays struct {
	key    string // canonical
	form   form
	server bool // it counts from the start of a SERVER span
	client bool // and of a CLIENT span
	perTry bool // it bounds one attempt, not the request
}

// An instant is where a value was recorded: Unix nanoseconds of the span's
// start, for values that are absolute.
type instant int64

// A deadlineReading is a value that was read: time left from the start of the
// span. grain is how coarse the value is. absolute values do not depend on when
// the span began.
type deadlineReading struct {
	left     int64 // nanoseconds; 0 and below: already past
	grain    int64
	absolute bool
}
