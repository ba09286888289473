package redirect

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/nftables"
)

// set is values of one type in rising order, none of which overlap.
type set []interval

// interval is a part of a set.
type interval struct {
	text  string
	first []byte
	past  []byte // the first value behind it; nil: it reaches to the end of its type
}

func (s set) String() string {
	texts := make([]string, 0, len(s))
	for _, i := range s {
		texts = append(texts, i.text)
	}
	return "{ " + strings.Join(texts, ", ") + " }"
}

// elements gives the set as the kernel stores it: where each interval begins and
// where it has ended.
func (s set) elements() []nftables.SetElement {
	var elements []nftables.SetElement
	for _, i := range s {
		elements = append(elements, nftables.SetElement{Key: i.first})
		if i.past != nil {
			elements = append(elements, nftables.SetElement{Key: i.past, IntervalEnd: true})
		}
	}
	return elements
}

// portSet merges what overlaps, which the kernel would refuse, and what touches.
func portSet(ranges []PortRange) set {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b PortRange) int { return int(a.First) - int(b.First) })
	var merged []PortRange
	for _, r := range sorted {
		if n := len(merged); n > 0 && int(r.First) <= int(merged[n-1].Last)+1 {
			merged[n-1].Last = max(merged[n-1].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}

	s := make(set, 0, len(merged))
	for _, r := range merged {
		i := interval{text: r.String(), first: binary.BigEndian.AppendUint16(nil, r.First)}
		if r.Last < 0xffff {
			i.past = binary.BigEndian.AppendUint16(nil, r.Last+1)
		}
		s = append(s, i)
	}
	return s
}

// prefixSet leaves out prefixes that lie in others. All are of one family.
func prefixSet(prefixes []netip.Prefix) set {
	sorted := slices.Clone(prefixes)
	slices.SortFunc(sorted, netip.Prefix.Compare) // by address, the wider first
	var s set
	var last netip.Prefix
	for _, p := range sorted {
		if last.IsValid() && last.Contains(p.Addr()) {
			continue
		}
		last = p
		s = append(s, interval{text: prefixText(p), first: p.Addr().AsSlice(), past: past(p)})
	}
	return s
}

// prefixText is as nft writes it: one address has no length.
func prefixText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// past gives the first address behind the prefix, nil if there is none.
func past(p netip.Prefix) []byte {
	last := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(last)*8; bit++ {
		last[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(last) // has the length of an address
	next := addr.Next()
	if !next.IsValid() {
		return nil
	}
	return next.AsSlice()
}

// split sorts prefixes by family.
func split(prefixes []netip.Prefix) (v4, v6 []netip.Prefix) {
	for _, p := range prefixes {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return v4, v6
}

// String writes one port as 80 and several as 8000-8080.
func (r PortRange) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}
