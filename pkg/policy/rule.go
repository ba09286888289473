package policy

import (
	"math/rand/v2"
	"time"
)

// Rule gives a tag to the requests that it takes.
type Rule struct {
	Name string
	Tag  string // "" where `split` gives several
	Salt string // of the share; "": the name

	from, until time.Time // zero: no limit
	share       share
	first, last int // its matches in the policy: first <= i < last
}

// active tells whether the rule works at that time.
func (r *Rule) active(now time.Time) bool {
	return (r.from.IsZero() || !now.Before(r.from)) && (r.until.IsZero() || now.Before(r.until))
}

// draw is what the share of a rule says of one request.
type draw struct {
	tag    string  // what the request gets; "": it is outside
	keyed  bool    // the request has the key, or the share needs none
	bucket Percent // where the request fell
	size   Percent // the share now
}

// take asks the share of the rule for a request that matches.
func (r *Rule) take(in *reader) draw {
	s := &r.share
	if s.kind == everything {
		return draw{tag: r.Tag, keyed: true, size: whole}
	}
	d := draw{size: s.at(in.request.Now)}
	if d.bucket, d.keyed = s.bucket(in); !d.keyed {
		return d
	}
	switch {
	case s.kind == split:
		if part := s.parts[d.bucket]; part != noPart {
			d.tag = s.tags[part]
		}
	case d.bucket < d.size:
		d.tag = r.Tag
	}
	return d
}

// bucket places the request: by its key, or at random where the share sticks
// to nothing.
func (s *share) bucket(in *reader) (Percent, bool) {
	if s.by >= 0 {
		key, ok := in.key(s.by)
		return bucketOf(key, s.salt), ok
	}
	if in.request.Rand != nil {
		return scale(in.request.Rand()), true
	}
	return scale(rand.Uint64()), true
}
