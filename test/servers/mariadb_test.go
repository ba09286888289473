package servers

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// MariaDB speaks first. One of its ports is among those that sidecars know for that (--opaque-ports), at the other it has
// to speak before they know.
func TestMariaDB(t *testing.T) {
	const known, other = 3306, 3307
	p := newPair(t)
	dir := folder(t)
	p.serve(t, "ready for connections", "mariadbd", "--no-defaults", "--datadir="+dir, "--skip-grant-tables",
		"--skip-networking=0", "--bind-address=*", fmt.Sprintf("--port=%d", known),
		fmt.Sprintf("--extra-port=%d", other), "--extra-max-connections=10",
		"--socket="+filepath.Join(dir, "socket"), "--pid-file="+filepath.Join(dir, "pid"),
		"--skip-name-resolve", "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=4M")
	for i, host := range []string{p.callee.Addr, p.callee.Addr6} {
		for _, port := range []int{known, other} {
			t.Run(fmt.Sprintf("%s at %d", host, port), func(t *testing.T) {
				query := func(sql string, flags ...string) string {
					t.Helper()
					return p.run(t, sql, "mariadb", append([]string{
						"--no-defaults", "--batch", "--skip-column-names", "--host=" + host, fmt.Sprintf("--port=%d", port),
					}, flags...)...)
				}
				got := query(`
CREATE OR REPLACE DATABASE shop;
USE shop;
CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(20));
START TRANSACTION;
INSERT INTO users VALUES (1, 'Ann'), (2, 'Zoë');
ROLLBACK;
INSERT INTO users VALUES (3, 'Bob');
PREPARE find FROM 'SELECT name FROM users WHERE id >= ?';
SET @id = 1;
EXECUTE find USING @id;
`, "--default-character-set=utf8mb4")
				if want := "Bob\n"; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				for _, flags := range [][]string{nil, {"--compress"}} {
					got := query("SELECT REPEAT('0123456789', 1000000)", flags...)
					if want := strings.Repeat("0123456789", 1_000_000) + "\n"; got != want {
						t.Errorf("a large result, %q: got %d bytes, want %d", flags, len(got), len(want))
					}
				}
				p.wantRelayed(t, p.callee.At(port)[i])
			})
		}
	}
}
