package policy

import (
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Check reads the policy file at path and returns all that is wrong with it, in
// the order of the file. Where nothing is, it returns what is odd instead: a
// policy with warnings works, but most likely not as was meant.
func Check(path string, now time.Time) (faults, warnings Faults) {
	file, data, err := readPolicy(path)
	if err != nil {
		return Faults{{File: path, What: err.Error()}}, nil
	}
	rep := &report{file: path}
	spec, root := parseSpec(data, rep)
	if spec == nil {
		return rep.sorted(), nil
	}
	p := compile(spec, root, rep, newLists(filepath.Dir(file), data))
	if faults := rep.sorted(); len(faults) > 0 {
		return faults, nil
	}
	w := &checker{report: &report{file: path}, spec: spec, policy: p, now: now}
	w.trust(root)
	w.rules(root.key("rules"))
	w.services(root.key("services"))
	return nil, w.sorted()
}

// checker looks for what is odd in a policy without faults.
type checker struct {
	*report
	spec   *Spec
	policy *Policy
	now    time.Time
}

// trust warns of networks that hold far more than a cluster.
func (w *checker) trust(root place) {
	at := root.key("trust")
	if !root.has("trust") {
		return
	}
	for i, text := range w.spec.Trust {
		net, _ := parseNet(text)
		if isWide(net) {
			w.add(at.item(i), "%s is wide open: callers from outside may choose their tag, want the networks of your pods", quote(text))
		}
	}
}

// isWide tells whether a network is larger than any that is set aside for
// private use: 10.0.0.0/8 and fc00::/7.
func isWide(net netip.Prefix) bool {
	if net.Addr().Is4() {
		return net.Bits() < 8
	}
	return net.Bits() < 7
}

func (w *checker) rules(at place) {
	taker := "" // name of a rule that takes every request
	for i := range w.spec.Rules {
		spec, item := &w.spec.Rules[i], at.item(i)
		rule := w.policy.Rules[i]
		if taker != "" {
			w.add(item, "never asked, since rule %s above takes every request", taker)
			continue
		}
		w.tags(spec, item)
		w.share(spec, rule, item)
		if !rule.until.IsZero() && !w.now.Before(rule.until) {
			w.add(item.key("active").key("until"), "over since %s: the rule takes nothing any more", rule.until.Format(time.RFC3339))
		}
		w.readsTag(spec, item)
		if takesAll(rule, spec) {
			taker = rule.Name
			if rule.Tag != Base {
				w.add(item, "it takes every request, so that all of them get tag %s: want matches, a share, or tag base", rule.Tag)
			}
		}
	}
}

// takesAll tells whether nothing passes the rule.
func takesAll(r *Rule, spec *RuleSpec) bool {
	always := r.from.IsZero() && r.until.IsZero() && len(spec.Matches) == 0
	return always && (r.share.kind == everything || r.share.by < 0 && r.share.kind == fixed && r.share.size == whole)
}

// tags warns of tags that no version has.
func (w *checker) tags(spec *RuleSpec, at place) {
	if spec.Tag != "" {
		w.tag(spec.Tag, at.key("tag"))
	}
	for i := range spec.Split {
		w.tag(spec.Split[i].Tag, at.key("split").item(i).key("tag"))
	}
}

func (w *checker) tag(tag string, at place) {
	if tag == Base {
		return
	}
	var known []string
	for _, s := range w.policy.Services {
		for _, v := range s.Versions {
			if v.Tag == tag {
				return
			}
			if v.Tag != Base && !slices.Contains(known, v.Tag) {
				known = append(known, v.Tag)
			}
		}
	}
	w.add(at, "no version of any service has tag %s, so base serves it everywhere%s", quote(tag), DidYouMean(tag, known))
}

func (w *checker) share(spec *RuleSpec, r *Rule, at place) {
	switch {
	case spec.By != nil && spec.By.ClientIP:
		w.add(at.key("by").key("clientIP"), "behind an ingress all callers have one address: the share is all of them or none")
	case spec.By == nil && r.share.kind != everything && w.policy.FirstMatch:
		w.add(at, "a share without by rolls again at each hop under decide: first-match, want a key")
	}
}

// readsTag warns of rules that read what the tag is written in.
func (w *checker) readsTag(spec *RuleSpec, at place) {
	for i := range spec.Matches {
		for j := range spec.Matches[i].Headers {
			if name := spec.Matches[i].Headers[j].Name; strings.EqualFold(name, w.policy.Header) {
				w.add(at.key("matches").item(i).key("headers").item(j),
					"%s carries the tag: whoever is not trusted can choose a tag by it here", name)
			}
		}
	}
}

func (w *checker) services(at place) {
	edges := 0
	owner := make(map[string]string)
	for i := range w.spec.Services {
		s, item := w.policy.Services[i], at.item(i)
		if s.Edge {
			edges++
		}
		for j, host := range s.Hosts {
			if first, claimed := owner[host]; claimed {
				w.add(w.hostPlace(item, j), "%s is claimed by service %s already, which keeps it", quote(host), first)
				continue
			}
			owner[host] = s.Name
		}
		w.versions(s, item)
	}
	if edges == 0 && len(w.spec.Services) > 0 {
		w.add(at, "no service is an edge: whoever calls from a trusted address may choose a tag; set edge: true on the one behind your ingress")
	}
}

func (w *checker) hostPlace(service place, i int) place {
	if !service.has("hosts") {
		return service.key("name")
	}
	return service.key("hosts").item(i)
}

func (w *checker) versions(s *Service, at place) {
	if len(s.Versions) > 0 && s.base == nil {
		w.add(at.key("versions"), "no version is base: base requests get 503, and no tag can fall back")
	}
	if s.base == nil {
		return
	}
	for i, v := range s.Versions {
		if v.Tag == Base {
			continue
		}
		if !v.Source.IsZero() && reflect.DeepEqual(v.Source, s.base.Source) {
			w.add(at.key("versions").item(i), "it is found where base is found: it gets requests of both")
		}
		for j, t := range v.Endpoints {
			if slices.ContainsFunc(s.base.Endpoints, func(b Target) bool { return b.Address == t.Address }) {
				where := at.key("versions").item(i).key("endpoints").item(j)
				w.add(where, "%s is an endpoint of base too: it gets requests of both", quote(t.Address))
			}
		}
	}
}
