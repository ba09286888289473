package propagate

import (
	"os"
	"strings"
	"testing"
)

func TestDocsNameEveryHeaderThatIsSet(t *testing.T) {
	page, err := os.ReadFile("../../docs/headers.md")
	if err != nil {
		t.Fatal(err)
	}
	c := carrier(t, Config{Make: KnownTraceHeaders()})
	h, ids := parse(""), new(IDs)
	c.IDs(h, ids)
	c.Make(h, ids)
	c.Write(h, &xGray, "gray")
	for _, l := range h.lines {
		if !strings.Contains(string(page), "`"+l.name) {
			t.Errorf("docs/headers.md does not name %s", l.name)
		}
	}
}
