package analyze

import "strings"

// placeholder stands for a part of a name that differs from call to call.
const placeholder = "{id}"

// template makes one name of many: it replaces numbers, ids, hashes, UUIDs,
// dates, addresses and random tokens of a span's name or a path by {id}, and
// drops a query. It is for names of spans and paths only; http.route and
// url.template are templates already.
//
// A word, here a run of letters and digits, is replaced where it is all digits,
// or digits with the T and Z of a time; has four digits or more at its end (the
// rest stays); is hexadecimal, with a digit and 8 characters or more; or is
// random: 10 characters or more in which letters and digits take turns three
// times or more, or 24 or more with a digit. Neighbours that are replaced become
// one. What is in braces stays.
//
// Note: no list of real words. A name that keeps one id too many splits a
// dependency; one that loses a word joins two. Both can be set right by a
// mapping of the user, so the rules are few enough to be remembered.
func template(s string) string {
	if at := strings.IndexByte(s, '?'); at > 0 {
		s = s[:at]
	}
	if !strings.ContainsAny(s, "0123456789") { // nothing below is without a digit
		return s
	}
	b := make([]byte, 0, len(s)+len(placeholder))
	joined := -1 // length of b after a placeholder that the next one may join; -1: none
	for i := 0; i < len(s); {
		if s[i] == '{' {
			if end := strings.IndexByte(s[i:], '}'); end > 0 {
				b = append(b, s[i:i+end+1]...)
				if s[i:i+end+1] == placeholder {
					joined = len(b)
				} else {
					joined = -1
				}
				i += end + 1
				continue
			}
		}
		n := wordLength(s[i:])
		if n == 0 {
			b = append(b, s[i])
			if joined >= 0 && (len(b) > joined+1 || !strings.ContainsRune("-_.:,~+", rune(s[i]))) {
				joined = -1
			}
			i++
			continue
		}
		if u := uuidLength(s[i:]); u > 0 {
			n = u
		}
		kept := keptLength(s[i : i+n])
		if kept < n && kept == 0 && joined >= 0 {
			b = b[:joined] // the separator goes
		} else {
			b = append(b, s[i:i+kept]...)
			if kept < n {
				b = append(b, placeholder...)
			}
		}
		joined = -1
		if kept < n {
			joined = len(b)
		}
		i += n
	}
	return string(b)
}

// keptLength is how much of a word stays before the placeholder: all of it
// where nothing is replaced.
func keptLength(w string) int {
	digits, hex, turns, tail, clock := 0, true, 0, 0, 0
	for i := range len(w) {
		digit := w[i] >= '0' && w[i] <= '9'
		if digit {
			digits++
			tail++
		} else {
			tail = 0
			low := w[i] | 0x20
			if i > 0 && (low == 't' || low == 'z') { // of a time such as 01T10
				clock++
			}
			hex = hex && (low >= 'a' && low <= 'f' || w[i] == '-')
		}
		if i > 0 && digit != (w[i-1] >= '0' && w[i-1] <= '9') {
			turns++
		}
	}
	switch {
	case digits > 0 && digits+clock == len(w), digits > 0 && hex && len(w) >= 8, turns >= 3 && len(w) >= 10, digits > 0 && len(w) >= 24:
		return 0
	case tail >= 4:
		return len(w) - tail
	}
	return len(w)
}

// wordLength is the length of the word at the start of s. Bytes of other
// scripts count as letters.
func wordLength(s string) (n int) {
	for n < len(s) {
		c := s[n]
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80) {
			break
		}
		n++
	}
	return n
}

// uuidLength is 36 where s begins with a UUID, else 0.
func uuidLength(s string) int {
	const length = 36
	if len(s) < length || wordLength(s[length:]) > 0 {
		return 0
	}
	for i := range length {
		c := s[i] | 0x20
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !(s[i] >= '0' && s[i] <= '9' || c >= 'a' && c <= 'f') {
			return 0
		}
	}
	return length
}
