package redirect

import (
	"encoding/binary"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// add puts the chain into conn's batch.
func (c chain) add(conn *nftables.Conn, t *nftables.Table) error {
	policy := nftables.ChainPolicyAccept
	nc := conn.AddChain(&nftables.Chain{
		Name: c.name, Table: t, Type: nftables.ChainTypeNAT, Policy: &policy,
		Hooknum: nftables.ChainHookRef(c.hook.number), Priority: nftables.ChainPriorityRef(priority),
	})
	for _, r := range c.rules {
		nr := &nftables.Rule{
			Table: t, Chain: nc,
			UserData: userdata.AppendString(nil, userdata.TypeComment, r.comment),
		}
		for _, m := range r.matches {
			exprs, err := m.exprs(conn, t)
			if err != nil {
				return err
			}
			nr.Exprs = append(nr.Exprs, exprs...)
		}
		nr.Exprs = append(nr.Exprs, r.verdict()...)
		conn.AddRule(nr)
	}
	return nil
}

func (r rule) verdict() []expr.Any {
	if r.to == 0 {
		return []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}
	}
	return []expr.Any{
		&expr.Immediate{Register: register, Data: binary.BigEndian.AppendUint16(nil, r.to)},
		&expr.Redir{RegisterProtoMin: register, RegisterProtoMax: register, Flags: unix.NF_NAT_RANGE_PROTO_SPECIFIED},
	}
}

// exprs gives what the kernel evaluates; a set is put into the batch before.
func (m match) exprs(conn *nftables.Conn, t *nftables.Table) ([]expr.Any, error) {
	if m.set == nil {
		op := expr.CmpOpEq
		if m.not {
			op = expr.CmpOpNeq
		}
		return compare(m.field, op, m.value), nil
	}
	s := &nftables.Set{Table: t, Anonymous: true, Constant: true, Interval: true, KeyType: m.field.key()}
	if err := conn.AddSet(s, m.set.elements()); err != nil {
		return nil, err
	}
	exprs := append([]expr.Any(nil), m.field.load...)
	return append(exprs, &expr.Lookup{SourceRegister: register, SetName: s.Name, SetID: s.ID, Invert: m.not}), nil
}

// key is the type of a set's values, by their length: the fields that are looked
// up are ports and addresses.
func (f field) key() nftables.SetDatatype {
	switch f.load[len(f.load)-1].(*expr.Payload).Len {
	case 2:
		return nftables.TypeInetService
	case 4:
		return nftables.TypeIPAddr
	default:
		return nftables.TypeIP6Addr
	}
}
