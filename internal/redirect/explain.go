package redirect

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/google/nftables"
)

// module is a part of the kernel that the rules need, with the least that fails
// where it is not there.
type module struct {
	name, option string
	rules        []rule
}

var (
	moduleNAT    = module{"nft_chain_nat", "CONFIG_NFT_NAT", nil}
	moduleRedir  = module{"nft_redir", "CONFIG_NFT_REDIR", []rule{{matches: []match{equal(protocol, tcp)}, to: 1}}}
	moduleFib    = module{"nft_fib_inet", "CONFIG_NFT_FIB_INET", []rule{leave("", equal(destinationType, local))}}
	moduleSocket = module{"nft_socket", "CONFIG_NFT_SOCKET", []rule{leave("", equal(transparent, no))}}
)

// absent is the modules that the kernel has not and cannot load.
type absent []string

func (a absent) only(m module) bool { return len(a) == 1 && a[0] == m.name }

// missing finds out which modules a failed install lacked; none if it failed for
// another reason.
func (k kernel) missing(err error) absent {
	if !errors.Is(err, syscall.ENOENT) {
		return nil
	}
	var names absent
	for _, m := range []module{moduleNAT, moduleRedir, moduleFib, moduleSocket} {
		if k.lacks(m) {
			names = append(names, m.name)
		}
		if m.name == moduleNAT.name && len(names) > 0 {
			break // the others can only be tried in a chain
		}
	}
	return names
}

// lacks tries the module in a table that is gone again at the end of the batch.
func (k kernel) lacks(m module) bool {
	conn, err := nftables.New(k.options...)
	if err != nil {
		return false
	}
	t := conn.AddTable(&nftables.Table{Name: Table + "-probe", Family: nftables.TableFamilyINet})
	c := chain{name: "probe", hook: prerouting, rules: m.rules}
	if err := c.add(conn, t); err != nil {
		return false
	}
	conn.DelTable(t)
	return errors.Is(conn.Flush(), syscall.ENOENT)
}

// explain says what the reader can do about an error of netlink.
func (k kernel) explain(doing string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EPERM):
		hint = "it needs CAP_NET_ADMIN: run it as root in an init container with securityContext.capabilities.add: [NET_ADMIN]"
	case errors.Is(err, syscall.EPROTONOSUPPORT), errors.Is(err, syscall.EAFNOSUPPORT), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EINVAL):
		hint = "this kernel has no nftables for IPv4 and IPv6 (modules nf_tables, nfnetlink; CONFIG_NF_TABLES_INET); " +
			"kernels with iptables-legacy alone are not supported: `modprobe nf_tables` on the node, or use a newer node image"
	case errors.Is(err, syscall.ENOENT):
		if names := k.missing(err); len(names) > 0 {
			hint = fmt.Sprintf("this kernel lacks %s: `modprobe %[1]s` on the node", strings.Join(names, " "))
		}
	}
	if hint == "" {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %s", doing, root(err), hint)
}

// root drops the wrapping of the netlink libraries, which joins one error for
// each message of the batch.
func root(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}
