package policy

import (
	"net/netip"
	"time"
)

// Policy is all rules in force, compiled and immutable once it is published.
type Policy struct {
	Enabled  bool       // the global switch; false: everything is base
	Header   string     // name of the tag header
	Digest   string     // first 12 hex digits of the SHA-256 of the policy file and the lists it names
	Services []*Service // in the order of the file
	Rules    []*Rule    // in the order of the file

	// FirstMatch is `decide: first-match`: a request that no rule has taken
	// goes on without a tag, and a later call of its chain may still be taken.
	FirstMatch bool
	// AcceptHeaders are further names of the tag header: read and taken off,
	// never written.
	AcceptHeaders []string
}

// Trusts tells whether the tag that this peer hands over is believed: it is
// inside `trust` and not inside `untrusted`. IPv4 in IPv6 counts as IPv4. It
// does not allocate.
func (p *Policy) Trusts(peer netip.Addr) bool { return false }

// Intern returns the tag that a word in the tag header means, as a shared
// string: a tag that the policy names (base and gray always), `true`, `1`,
// `false`, `0`, and what `headerValues` lists. It does not allocate.
func (p *Policy) Intern(word []byte) (tag string, ok bool) { return "", false }

// HeaderValue returns what the tag header says for tag: the tag itself, unless
// `headerValues` names another word. It does not allocate.
func (p *Policy) HeaderValue(tag string) string { return tag }

// ServiceFor returns the service that claims authority, the host as the caller
// named it, or nil. It does not allocate.
func (p *Policy) ServiceFor(authority []byte) *Service { return nil }

// ServiceNamed returns the service with that name, or nil.
func (p *Policy) ServiceNamed(name string) *Service { return nil }

// Tag returns the tag that the rules give r and the rule that did, or Base and
// nil where no rule takes it. It does not allocate.
func (p *Policy) Tag(r *Request) (tag string, rule *Rule) { return Base, nil }

// Bind sets the backend of every version to what f returns for it. It must be
// called before p is published.
func (p *Policy) Bind(f func(*Version) Backend) {
	for _, s := range p.Services {
		for _, v := range s.Versions {
			v.Backend = f(v)
		}
	}
}

// Rule gives a tag to the requests that it takes.
type Rule struct {
	Name string
	Tag  string // "" where `split` gives several

	from, until time.Time
}
