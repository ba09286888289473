package main

import (
	"context"
	"slices"
	"time"

	"graylane/internal/discovery"
	"graylane/pkg/policy"
)

// apply puts a policy in force: endpoints first, then the policy, then the end of
// what only the one before had.
func (sc *sidecar) apply(ctx context.Context, p *policy.Policy) {
	next, found := sc.table.Begin(), sc.finder.Begin(ctx)
	owned := make(map[*policy.Service][]*discovery.Endpoints)
	p.Bind(func(v *policy.Version) policy.Backend {
		group := next.Group(versionOf(p, v))
		if source := sc.sourceOf(v); source != nil {
			endpoints := sc.owners.Endpoints()
			group.OnDoubt(found.Follow(source, group))
			found.Follow(source, endpoints)
			owned[v.Service] = append(owned[v.Service], endpoints)
		}
		return group
	})
	found.Wait(patience)
	sc.store.Replace(p)
	next.Commit()
	found.Commit()
	sc.owners.Set(places(p, owned))
	sc.count(p)
	sc.reloads.Good(time.Now())
	sc.ready.Done(taskPolicy)
	sc.log.Info("policy in force", "digest", p.Digest, "enabled", p.Enabled, "services", len(p.Services), "rules", len(p.Rules))
	for _, doubt := range doubts(p, sc.settings.Service, sc.settings.Tag) {
		sc.log.Warn("this pod and the policy do not fit", "doubt", doubt, "service", sc.settings.Service, "tag", sc.settings.Tag)
	}
}

// count makes the metrics those of a policy.
func (sc *sidecar) count(p *policy.Policy) {
	services := []string{sc.settings.Service} // requests to the pod count under it, whatever the policy says
	for _, s := range p.Services {
		services = append(services, s.Name)
		for _, v := range s.Versions {
			if v.Tag != policy.Base {
				sc.metrics.Expect(s.Name, v.Tag, fallbackReasons()...)
			}
		}
	}
	sc.metrics.Names(services, p.Tags())
	sc.metrics.Policy(p.Digest)
}

// places lists where the services of a policy are found; owned is what their
// sources find.
func places(p *policy.Policy, owned map[*policy.Service][]*discovery.Endpoints) []discovery.Place {
	all := make([]discovery.Place, 0, len(p.Services))
	for _, s := range p.Services {
		place := discovery.Place{Service: s.Name, Names: slices.Clone(s.Hosts), Found: owned[s]}
		for _, v := range s.Versions {
			for _, target := range v.Endpoints {
				place.Names = append(place.Names, target.Address)
			}
		}
		all = append(all, place)
	}
	return all
}

// fallbackReasons lists why a version that exists may not serve its requests.
func fallbackReasons() []string {
	var reasons []string
	for r := policy.NoEndpoint; r.Fallback(); r++ {
		reasons = append(reasons, r.String())
	}
	return reasons
}

// doubts says what in the policy does not fit the service and the tag that the pod
// was given. It is for the log alone: pods and policy change one after the other,
// and a pod may serve what no caller names.
func doubts(p *policy.Policy, service, tag string) []string {
	s := p.ServiceNamed(service)
	switch {
	case s == nil && service != "":
		return []string{"the policy has no service of this name, so that its edge does not hold here: is --service right?"}
	case s == nil && anyEdge(p):
		return []string{"the policy has services with edge: true, which hold for pods that were given their name by --service"}
	case s == nil || len(s.Versions) == 0:
		return nil
	}
	for _, v := range s.Versions {
		if v.Tag == tag {
			return nil
		}
	}
	return []string{"the service has no version with this tag, so that no request is sent here: is --tag right?"}
}

func anyEdge(p *policy.Policy) bool {
	for _, s := range p.Services {
		if s.Edge {
			return true
		}
	}
	return false
}
