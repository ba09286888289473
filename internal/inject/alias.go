package inject

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// separate makes copies of what a patch will change wherever an alias shares it, so that the change stays in the pod: a
// node selector may be an alias of the labels.
func (p Patch) separate(doc, pod *yaml.Node) {
	changed := map[*yaml.Node]bool{}
	for _, op := range p {
		n := resolve(pod)
		for token := range strings.SplitSeq(strings.TrimPrefix(op.Path, "/"), "/") {
			changed[n] = true
			if n = child(n, unescape(token)); n == nil {
				break
			}
		}
		changed[n] = true // what another takes the place of
	}
	unshare(doc, changed)
}

// unshare puts a copy in place of every alias of a node that changes.
func unshare(n *yaml.Node, changed map[*yaml.Node]bool) {
	for i, item := range n.Content {
		if item.Kind == yaml.AliasNode && changed[item.Alias] {
			n.Content[i] = clone(item.Alias)
		}
		unshare(n.Content[i], changed)
	}
}

// own is child, with a copy of its own where an alias stands.
func own(n *yaml.Node, token string) *yaml.Node {
	at := keyIndex(n, token)
	if at < 0 {
		return nil
	}
	if n.Content[at+1].Kind == yaml.AliasNode {
		n.Content[at+1] = clone(n.Content[at+1].Alias)
	}
	return n.Content[at+1]
}

// clone copies a node and what it holds; its anchor and its comments stay with the original.
func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Anchor, c.HeadComment, c.LineComment, c.FootComment = "", "", "", ""
	c.Content = nil
	for _, item := range n.Content {
		c.Content = append(c.Content, clone(item))
	}
	return &c
}
