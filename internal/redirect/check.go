package redirect

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
)

// Check reports whether the rules are in force as Install puts them, and work. It
// makes one connection for IPv4 and one for IPv6, whichever this pod has, from
// the pod to its own address or else to one that is nobody's, and wants them to
// be brought to the outbound port. It needs no sidecar: where none listens it does so
// itself meanwhile, and returns these addresses as vacant.
//
// Like Install it needs CAP_NET_ADMIN; it must not run as the sidecar's user,
// whose connections are left alone. When the error is ErrClosedPorts the rules
// are in force but for that.
func (r Rules) Check(ctx context.Context) (vacant []netip.AddrPort, err error) {
	inForce, err := kernel{}.comments()
	if err != nil {
		return nil, kernel{}.explain("reading the redirect rules", err)
	}
	are := func(c closed) bool { return slices.Equal(inForce, comments(r.chains(c))) }
	switch {
	case len(inForce) == 0:
		return nil, fmt.Errorf("there is no nftables table inet %s: run `sidecar redirect` first", Table)
	case !are(refuseClosed) && !are(acceptClosed):
		return nil, fmt.Errorf("the nftables table inet %s is not what these flags make: run `sidecar redirect` again with them, "+
			"or check with those that it was made with", Table)
	}
	if vacant, err = r.tryBoth(ctx); err != nil {
		return nil, err
	}
	if are(acceptClosed) {
		return vacant, ErrClosedPorts
	}
	return vacant, nil
}

// comments reads the comments of all our rules in force, by which they are known:
// the last of each chain has a digest of all rules.
func (k kernel) comments() ([]string, error) {
	conn, err := nftables.New(k.options...)
	if err != nil {
		return nil, err
	}
	chains, err := conn.ListChainsOfTableFamily(nftables.TableFamilyINet)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, c := range chains {
		if c.Table.Name != Table {
			continue
		}
		rules, err := conn.GetRules(c.Table, c)
		if err != nil {
			return nil, err
		}
		for _, r := range rules {
			comment, _ := userdata.GetString(r.UserData, userdata.TypeComment)
			found = append(found, comment)
		}
	}
	return found, nil
}

func comments(chains []chain) []string {
	var all []string
	for _, c := range chains {
		for _, r := range c.rules {
			all = append(all, r.comment)
		}
	}
	return all
}
