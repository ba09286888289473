package discovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"graylane/internal/upstream"
)

// targetGroup is an element of a file_sd list. The labels zone, weight and protocol
// are those of the endpoints; any others serve to tell groups apart.
type targetGroup struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

const mostWeight = 1_000_000 // as in a policy

// parse returns the endpoints of the groups that have the labels. An error begins
// with a place, which follows the name of the file, or with ": ".
func parse(data []byte, labels map[string]string) ([]upstream.Target, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	var groups []targetGroup
	if err := in.Decode(&groups); err != nil {
		return nil, placed(data, in.InputOffset(), err)
	}
	if groups == nil {
		return nil, fmt.Errorf(": null, want a list: [] for no endpoints")
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one list", position(data, in.InputOffset()))
	}
	targets := []upstream.Target{}
	for i, group := range groups {
		weight := 1
		if text, ok := group.Labels["weight"]; ok {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > mostWeight {
				return nil, fmt.Errorf(": [%d].labels.weight: %q, want a number from 0 to %d", i, text, mostWeight)
			}
			weight = n
		}
		protocol := group.Labels["protocol"]
		if protocol != "" && protocol != upstream.ProtocolHTTP1 && protocol != upstream.ProtocolH2C {
			return nil, fmt.Errorf(": [%d].labels.protocol: %q, want %s or %s", i, protocol, upstream.ProtocolHTTP1, upstream.ProtocolH2C)
		}
		for j, address := range group.Targets {
			if !isAddress(address) {
				return nil, fmt.Errorf(": [%d].targets[%d]: %q, want host:port, or host alone", i, j, address)
			}
			if group.has(labels) {
				targets = append(targets, upstream.Target{Address: address, Weight: weight, Zone: group.Labels["zone"], Protocol: protocol})
			}
		}
	}
	return targets, nil
}

// placed says where in the data an error of decoding is.
func placed(data []byte, offset int64, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %s, want %s", position(data, wrong.Offset), wrong.Value, wanted(wrong))
	}
	if errors.Is(err, io.EOF) {
		return errors.New(": empty, want a list: [] for no endpoints")
	}
	return fmt.Errorf("%s: %s", position(data, offset), strings.TrimPrefix(err.Error(), "json: "))
}

func wanted(wrong *json.UnmarshalTypeError) string {
	switch wrong.Field {
	case "":
		return "a list of {targets, labels}"
	case "targets":
		return "targets: a list of addresses"
	case "labels":
		return "labels: strings"
	}
	return "a string"
}

func (g *targetGroup) has(labels map[string]string) bool {
	for name, value := range labels {
		if g.Labels[name] != value {
			return false
		}
	}
	return true
}

// isAddress tells whether an endpoint can have this address.
func isAddress(address string) bool {
	host := address
	if strings.HasPrefix(address, "[") && strings.HasSuffix(address, "]") {
		host = address[1 : len(address)-1]
	} else if strings.Contains(address, ":") {
		var port string
		var err error
		if host, port, err = net.SplitHostPort(address); err != nil {
			return false
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return host != "" && !strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/@?#*[]", r) })
}
