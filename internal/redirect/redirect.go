// Package redirect installs and removes the kernel rules that bring a pod's traffic here.
//
// Rules says what is brought to the sidecar and what is left alone; it becomes
// one nftables table of our own, [Table], which Install replaces as a whole and
// Remove takes away. Rules.String gives the table as `nft list table` shows it.
// Check tries whether it works.
//
// Only TCP is touched. A call that comes in is brought to the sidecar if
// something listens where it was going, so that a closed port refuses its caller
// as if there were no sidecar, and what listens on loopback alone stays private.
// A call that goes out is brought to the sidecar unless the sidecar itself makes
// it or it goes to loopback; so a pod that calls its own address passes out once,
// and not in again.
package redirect

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/google/nftables"
)

// Table is the name of our nftables table, of the family inet.
const Table = "graylane"

// Rules is what of a pod's TCP traffic is brought to the sidecar.
type Rules struct {
	UID      uint32 // whose calls are left alone: the sidecar's own user
	Inbound  Side   // calls to the pod; the peers are their sources
	Outbound Side   // calls from the pod; the peers are their destinations
}

// Side is one direction of traffic. It is redirected if Include has it and
// Exclude has not.
type Side struct {
	Port    uint16 // where the sidecar takes it
	Include Filter // an empty list includes all
	Exclude Filter
}

// Filter names traffic by any of its properties.
type Filter struct {
	Ports      []PortRange    // destination ports
	Peers      []netip.Prefix // addresses of the other side
	Interfaces []string       // exact names
}

// PortRange is the ports from First to Last, both included.
type PortRange struct{ First, Last uint16 }

// ErrClosedPorts says that the rules are in force but for one thing: the kernel
// cannot tell whether anything listens on a port.
var ErrClosedPorts = errors.New("this kernel has no nft_socket (CONFIG_NFT_SOCKET): " +
	"a call to a port where no app listens is accepted and then reset, instead of refused, so TCP probes of it succeed")

// Install puts the rules in force, in place of any that were, in one step: no
// connection sees half of them. It needs CAP_NET_ADMIN in the pod's network. When
// the error is ErrClosedPorts the rules are in force all the same.
func (r Rules) Install() error { return kernel{}.install(r) }

// Remove takes the rules out of force. It is no error if there are none.
// Connections that were redirected stay so.
func Remove() error { return kernel{}.remove() }

// kernel is the netfilter of the network namespace that the caller is in.
type kernel struct {
	options []nftables.ConnOption // for tests
}

func (k kernel) install(r Rules) error {
	err := k.replace(r.chains(refuseClosed))
	if err == nil {
		return nil
	}
	if k.missing(err).only(moduleSocket) {
		if err = k.replace(r.chains(acceptClosed)); err == nil {
			return ErrClosedPorts
		}
	}
	return k.explain("installing the redirect rules", err)
}

func (k kernel) remove() error {
	conn, err := nftables.New(k.options...)
	if err != nil {
		return k.explain("removing the redirect rules", err)
	}
	conn.DelTable(table())
	err = conn.Flush()
	if err == nil || errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return k.explain("removing the redirect rules", err)
}

// replace sends one batch, which the kernel applies whole or not at all.
func (k kernel) replace(chains []chain) error {
	conn, err := nftables.New(k.options...)
	if err != nil {
		return err
	}
	// Adding it first makes the delete succeed whether or not it was there.
	conn.AddTable(table())
	conn.DelTable(table())
	t := conn.AddTable(table())
	for _, c := range chains {
		if err := c.add(conn, t); err != nil {
			return fmt.Errorf("chain %s: %w", c.name, err)
		}
	}
	return conn.Flush()
}

func table() *nftables.Table {
	return &nftables.Table{Name: Table, Family: nftables.TableFamilyINet}
}
