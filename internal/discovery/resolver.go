package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Resolver asks name servers, and knows how long their answers are good for,
// which that of package net does not tell. The zero Resolver asks those of
// /etc/resolv.conf.
type Resolver struct {
	// Servers are asked in order, host:port; nil: those of the file.
	Servers []string
	// File is where servers and search list are read, "" for /etc/resolv.conf, anew
	// for each question.
	File string
	// Timeout is how long a server has to answer, 0: as the file says, 5 s if it
	// does not.
	Timeout time.Duration
}

// found is a list and how long it is good for.
type found[T any] struct {
	list    []T
	ttl     time.Duration
	missing error // why it is not all: that of one kind of addresses
}

// lag is how much later than the other one kind of addresses may be answered:
// servers that answer both do so at once, and some never answer for IPv6.
const lag = time.Second

var errLag = errors.New("no answer within a second of that for the other kind of addresses")

// service is a SRV record.
type service struct {
	host                   string // with a dot at the end
	port, priority, weight uint16
}

// addresses returns the IPv4 and IPv6 addresses of a host, sorted. An empty list
// is an answer: there are none. Where one kind cannot be had, the other is all, and
// missing says why.
func (r *Resolver) addresses(ctx context.Context, host string) (found[netip.Addr], error) {
	return search(ctx, r, host, func(ctx context.Context, c *resolvConf, name dnsmessage.Name) (found[netip.Addr], error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		kind := func(t dnsmessage.Type) (f found[netip.Addr]) {
			f, err := ask(ctx, c, name, t, addressOf)
			if err != nil {
				f.missing = err
			} else if len(f.list) > 0 {
				time.AfterFunc(lag, func() { cancel(errLag) })
			}
			return f
		}
		var four, six found[netip.Addr]
		var both sync.WaitGroup
		both.Go(func() { four = kind(dnsmessage.TypeA) })
		both.Go(func() { six = kind(dnsmessage.TypeAAAA) })
		both.Wait()
		all := found[netip.Addr]{slices.Concat(four.list, six.list), min(four.ttl, six.ttl), errors.Join(four.missing, six.missing)}
		switch { // an answer without addresses does not say how long those of the other are good for
		case len(four.list) == 0 && len(six.list) > 0:
			all.ttl = six.ttl
		case len(six.list) == 0 && len(four.list) > 0:
			all.ttl = four.ttl
		case len(all.list) == 0 && all.missing != nil:
			return found[netip.Addr]{}, all.missing
		}
		slices.SortFunc(all.list, netip.Addr.Compare)
		all.list = slices.Compact(all.list)
		return all, nil
	})
}

// services returns the SRV records of a name.
func (r *Resolver) services(ctx context.Context, name string) (found[service], error) {
	return search(ctx, r, name, func(ctx context.Context, c *resolvConf, name dnsmessage.Name) (found[service], error) {
		return ask(ctx, c, name, dnsmessage.TypeSRV, serviceOf)
	})
}

// search asks for a name and, as resolv.conf says, for what it may be short for,
// and returns the first answer that is not empty. It stops at a failure: the name
// behind it could be somebody else's.
func search[T any](ctx context.Context, r *Resolver, name string,
	look func(context.Context, *resolvConf, dnsmessage.Name) (found[T], error),
) (found[T], error) {
	conf := r.conf()
	var none found[T]
	for i, candidate := range conf.candidates(name) {
		wire, err := dnsmessage.NewName(candidate)
		if err != nil {
			continue // with the suffix it is no name any more
		}
		answer, err := look(ctx, conf, wire)
		if err != nil {
			return found[T]{}, err
		}
		if len(answer.list) > 0 {
			return answer, nil
		}
		if i == 0 || answer.ttl < none.ttl {
			none.ttl = answer.ttl
		}
	}
	return none, nil
}

// ask asks the servers in turn, as often as resolv.conf says, until one answers.
func ask[T any](ctx context.Context, c *resolvConf, name dnsmessage.Name, kind dnsmessage.Type,
	take func(dnsmessage.ResourceBody) (T, bool),
) (found[T], error) {
	var last error
	for range c.attempts {
		for _, server := range c.servers {
			reply, err := exchange(ctx, server, c.timeout, dnsmessage.Question{
				Name: name, Type: kind, Class: dnsmessage.ClassINET,
			})
			if err != nil {
				last = fmt.Errorf("asking %s for %s of %s: %w", server, strings.TrimPrefix(kind.String(), "Type"), name, err)
				continue
			}
			return read(reply, take), nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		last = cause
	}
	return found[T]{}, last
}

// read takes the records that are wanted out of a reply. They are good for as
// long as the least of the records that led to them.
func read[T any](m *dnsmessage.Message, take func(dnsmessage.ResourceBody) (T, bool)) found[T] {
	f := found[T]{ttl: mostTTL}
	for _, record := range m.Answers {
		f.ttl = min(f.ttl, seconds(record.Header.TTL))
		if value, ok := take(record.Body); ok {
			f.list = append(f.list, value)
		}
	}
	if len(f.list) > 0 {
		return f
	}
	// How long nothing is good for, the SOA record says (RFC 2308, section 5).
	f.ttl = mostEmpty
	for _, record := range m.Authorities {
		if soa, ok := record.Body.(*dnsmessage.SOAResource); ok {
			f.ttl = min(seconds(record.Header.TTL), seconds(soa.MinTTL))
		}
	}
	return f
}

func seconds(ttl uint32) time.Duration { return time.Duration(ttl) * time.Second }

func addressOf(body dnsmessage.ResourceBody) (netip.Addr, bool) {
	switch body := body.(type) {
	case *dnsmessage.AResource:
		return netip.AddrFrom4(body.A), true
	case *dnsmessage.AAAAResource:
		return netip.AddrFrom16(body.AAAA).Unmap(), true
	}
	return netip.Addr{}, false
}

func serviceOf(body dnsmessage.ResourceBody) (service, bool) {
	s, ok := body.(*dnsmessage.SRVResource)
	if !ok {
		return service{}, false
	}
	return service{s.Target.String(), s.Port, s.Priority, s.Weight}, true
}
