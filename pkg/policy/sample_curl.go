package policy

import (
	"errors"
	"fmt"
	"strings"
)

// ParseCurl reads a curl command line, as browsers copy it: URL, -X, -H, -b,
// -A, -e, -d and their long forms; other options are passed over.
func ParseCurl(command string) (*Sample, error) {
	words, err := shellWords(command)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && words[0] == "curl" {
		words = words[1:]
	}
	c := curl{sample: &Sample{}}
	for i := 0; i < len(words); i++ {
		option, value, inline := curlOption(words[i])
		if option == "" {
			c.url = value
			continue
		}
		if !inline && strings.Contains(curlValued, " "+option+" ") {
			i++
			if i == len(words) {
				return nil, fmt.Errorf("curl option %s: want a value", option)
			}
			value = words[i]
		}
		c.set(option, value)
	}
	if c.url == "" {
		return nil, errors.New("curl command: want a URL")
	}
	return c.finish(), nil
}

type curl struct {
	sample *Sample
	url    string
	method string
	data   []string
	get    bool
	head   bool
}

// curlValued lists the options that have a value.
const curlValued = " -X --request -H --header -b --cookie -A --user-agent -e --referer -d --data --data-raw" +
	" --data-binary --data-ascii --data-urlencode --json -F --form --url -o --output -x --proxy -u --user -m" +
	" --max-time --connect-timeout --resolve --connect-to --cacert -E --cert --key -w --write-out -T --upload-file" +
	" --retry --interface -c --cookie-jar -D --dump-header -K --config -r --range --unix-socket "

// curlOption takes `--name=value` and `-Xvalue` apart. A word that is no
// option has no name.
func curlOption(word string) (option, value string, inline bool) {
	switch {
	case strings.HasPrefix(word, "--"):
		option, value, inline = strings.Cut(word, "=")
		return option, value, inline
	case len(word) > 2 && word[0] == '-' && strings.Contains(curlValued, " "+word[:2]+" "):
		return word[:2], word[2:], true
	case len(word) > 1 && word[0] == '-':
		return word, "", false
	}
	return "", word, false
}

func (c *curl) set(option, value string) {
	switch option {
	case "-X", "--request":
		c.method = value
	case "-H", "--header":
		if name, value, ok := strings.Cut(value, ":"); ok {
			c.sample.header(name, value)
		}
	case "-b", "--cookie":
		c.sample.header("Cookie", value)
	case "-A", "--user-agent":
		c.sample.header("User-Agent", value)
	case "-e", "--referer":
		c.sample.header("Referer", value)
	case "-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--data-urlencode", "--json", "-F", "--form":
		c.data = append(c.data, value)
	case "--url":
		c.url = value
	case "-G", "--get":
		c.get = true
	case "-I", "--head":
		c.head = true
	}
}

func (c *curl) finish() *Sample {
	s := c.sample
	s.Method = "GET"
	switch {
	case c.method != "":
		s.Method = c.method
	case c.head:
		s.Method = "HEAD"
	case len(c.data) > 0 && !c.get:
		s.Method = "POST"
	}
	host := s.Host
	s.target(c.url)
	if host != "" {
		s.Host = host // -H 'Host: ...' is what curl sends
	}
	if c.get && len(c.data) > 0 {
		s.Query = strings.TrimPrefix(s.Query+"&"+strings.Join(c.data, "&"), "&")
	}
	return s
}

// shellWords splits a command line as a shell does: quotes, backslashes, and
// lines continued with a backslash.
func shellWords(line string) ([]string, error) {
	var words []string
	var word []byte
	open, closing := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case closing == 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			if open {
				words, word, open = append(words, string(word)), word[:0], false
			}
		case closing == 0 && (c == '\'' || c == '"'):
			open, closing = true, c
		case c == closing:
			closing = 0
		case c == '\\' && escapes(closing, line[i+1:]):
			i++
			if line[i] != '\n' {
				open, word = true, append(word, line[i])
			}
		default:
			open, word = true, append(word, c)
		}
	}
	if closing != 0 {
		return nil, errors.New("curl command: a quote is not closed")
	}
	if open {
		words = append(words, string(word))
	}
	return words, nil
}

// escapes tells whether a backslash before rest escapes: anything outside
// quotes, some characters inside double ones, nothing inside single ones.
func escapes(quote byte, rest string) bool {
	switch {
	case rest == "" || quote == '\'':
		return false
	case quote == '"':
		return strings.IndexByte("\"\\$`\n", rest[0]) >= 0
	}
	return true
}
