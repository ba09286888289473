package propagate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
)

// Config says which trace headers a Carrier reads and makes. Header names are taken in any case.
type Config struct {
	// TraceHeaders are the formats whose ids tie outbound calls to inbound ones, in the order in
	// which they are asked. Default: all that are known, in the order of [KnownTraceHeaders].
	TraceHeaders []string
	// Make are the formats to make where none came. "auto", the default, stands for traceparent,
	// X-Request-Id and every format that the app was seen to speak; beside other names it adds to
	// them. Without it only what is listed is made.
	Make []string
	// Unsampled leaves the sampled flag of made ids unset where nothing that came settles it.
	Unsampled bool
	// Rand makes ids. Default: rand.Uint64 of math/rand/v2. It must be safe for concurrent use.
	Rand func() uint64
}

// auto in Config.Make stands for what every app knows and what ours was seen to speak.
const auto = "auto"

// Carrier reads and writes tags and trace ids. Both directions of a sidecar share one: it learns from
// outbound calls what it makes inbound. It is safe for concurrent use.
type Carrier struct {
	order     [formatCount]uint8 // the formats as they are read: the ones asked come first
	asked     formatSet
	always    formatSet // made from the first request
	learns    bool
	learned   atomic.Uint32 // a formatSet
	unsampled bool
	rand      func() uint64
	scratch   sync.Pool // of *scratch
}

// KnownTraceHeaders lists the trace headers that a Carrier can read and make.
func KnownTraceHeaders() []string {
	names := make([]string, formatCount)
	for i := range formats {
		names[i] = formats[i].name
	}
	return names
}

// New returns a Carrier, or an error that names every unknown header and the known ones.
func New(cfg Config) (*Carrier, error) {
	c := &Carrier{unsampled: cfg.Unsampled, rand: cfg.Rand}
	c.scratch.New = func() any { return new(scratch) }
	if c.rand == nil {
		c.rand = rand.Uint64
	}
	if err := errors.Join(c.setTraceHeaders(cfg.TraceHeaders), c.setMake(cfg.Make)); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Carrier) setTraceHeaders(names []string) error {
	if len(names) == 0 {
		names = KnownTraceHeaders()
	}
	var faults []error
	n := 0
	put := func(f int) {
		if !c.asked.has(f) {
			c.asked = c.asked.with(f)
			c.order[n] = uint8(f)
			n++
		}
	}
	for _, name := range names {
		f, ok := formatNamed(name)
		if !ok {
			faults = append(faults, fmt.Errorf("trace header %q: unknown, want one of %s", name, strings.Join(KnownTraceHeaders(), ", ")))
			continue
		}
		put(f)
	}
	asked := c.asked
	for f := range formatCount {
		put(f)
	}
	c.asked = asked
	return errors.Join(faults...)
}

func (c *Carrier) setMake(names []string) error {
	if len(names) == 0 {
		names = []string{auto}
	}
	var faults []error
	for _, name := range names {
		if strings.EqualFold(name, auto) {
			c.learns = true
			c.always = c.always.with(traceparent).with(requestID)
			continue
		}
		f, ok := formatNamed(name)
		if !ok {
			faults = append(faults, fmt.Errorf("trace header to make %q: unknown, want %s or some of %s", name, auto, strings.Join(KnownTraceHeaders(), ", ")))
			continue
		}
		c.always = c.always.with(f)
	}
	return errors.Join(faults...)
}

func formatNamed(name string) (int, bool) {
	for f := range formats {
		if strings.EqualFold(name, formats[f].name) {
			return f, true
		}
	}
	return 0, false
}

// IDs fills ids with the trace ids of h. A header that is invalid, or that stands there more than
// once, names no id and hides none.
func (c *Carrier) IDs(h Header, ids *IDs) {
	ids.reset(c.asked)
	for _, n := range c.order {
		f := int(n)
		lines := h.Values(ids.lines[:0], formats[f].name)
		if len(lines) == 0 {
			continue
		}
		o, ok := origin{}, false
		if len(lines) == 1 {
			o, ok = formats[f].read(ids, h, trim(lines[0]))
			ids.settle(o.record)
		}
		if ok {
			ids.add(f, o)
		}
		ids.broken = ids.broken || f == traceparent && !ok
	}
	ids.came = ids.n
	clear(ids.lines[:]) // ids outlives the head
	ids.from.opaque = nil
}

// Learn takes note of the formats that the app speaks, from the ids of an outbound call as IDs found
// them: before Make has added any. It does nothing unless Config.Make holds "auto".
func (c *Carrier) Learn(ids *IDs) {
	if !c.learns {
		return
	}
	// A plain load first: after the first few calls there is nothing to write, and cores share the line.
	if found := uint32(ids.found & ids.asked); found&^c.learned.Load() != 0 {
		c.learned.Or(found)
	}
}
