package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"graylane/pkg/policy"
)

// envPrefix stands before every setting in the environment.
const envPrefix = "GRAYLANE_"

// usageError is what the caller of a command did wrong, one fault each: exit code 2.
type usageError []string

func (e usageError) Error() string { return strings.Join(e, "\n") }

// sources reads settings as text, a flag before the environment before the file
// before the default, and collects what is wrong with them.
type sources struct {
	viper  *viper.Viper
	flags  *pflag.FlagSet
	file   string // "" without --config
	faults usageError
}

// openSources reads the --config file, if there is one.
func openSources(fs *pflag.FlagSet) (*sources, error) {
	s := &sources{viper: viper.New(), flags: fs}
	for _, f := range flagTable() {
		if err := s.viper.BindFlagValue(f.name, boundFlag{fs.Lookup(f.name)}); err != nil {
			return nil, fmt.Errorf("reading flag %s: %w", f.name, err)
		}
	}
	s.viper.SetEnvPrefix(strings.TrimSuffix(envPrefix, "_"))
	s.viper.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	s.viper.AutomaticEnv()

	file := s.viper.GetString(configFlag)
	if file == "" {
		return s, nil
	}
	if !slices.Contains([]string{".yaml", ".yml", ".json", ".toml"}, filepath.Ext(file)) {
		s.fault(configFlag, "a file that ends in .yaml, .yml, .json or .toml")
		return nil, s.faults
	}
	s.viper.SetConfigFile(file)
	if err := s.viper.ReadInConfig(); err != nil {
		return nil, usageError{fmt.Sprintf("%s: %v", configFlag, err)}
	}
	s.file = file
	s.refuseUnknownKeys()
	return s, nil
}

func (s *sources) refuseUnknownKeys() {
	keys := s.viper.AllKeys()
	slices.Sort(keys)
	known := slices.DeleteFunc(flagNames(), func(name string) bool { return name == configFlag })
	for _, key := range keys {
		// Viper lists the flags as well; --config alone has no place in a file.
		if slices.Contains(known, key) || key == configFlag && !s.viper.InConfig(key) {
			continue
		}
		s.faults = append(s.faults, fmt.Sprintf("%s: unknown key in file %s, want a flag of `sidecar run --help` without its dashes%s",
			key, s.file, policy.DidYouMean(key, known)))
	}
}

// text gives the setting as it was written, "" for none. A list in the file is
// written with commas.
func (s *sources) text(name string) string {
	return asText(s.viper.Get(name))
}

func asText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case float64: // every number in JSON; %v would write 1e+06
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = asText(item)
		}
		return strings.Join(items, ",")
	default:
		return fmt.Sprint(v)
	}
}

// list gives the setting cut at commas, without blanks around the items; nil for none.
func (s *sources) list(name string) []string {
	text := s.text(name)
	if text == "" {
		return nil
	}
	items := strings.Split(text, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// fault notes that the setting is not what it should be.
func (s *sources) fault(name, want string) {
	s.faultIn(name, s.text(name), want)
}

// faultIn is fault for one item of a list.
func (s *sources) faultIn(name, item, want string) {
	s.faults = append(s.faults, fmt.Sprintf("%s: got %q from %s, want %s", name, item, s.origin(name), want))
}

// refuse is fault for what somebody else has judged; each line of err is a fault.
func (s *sources) refuse(name string, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		s.faults = append(s.faults, fmt.Sprintf("%s: %s (from %s)", name, line, s.origin(name)))
	}
}

// origin names where the setting came from.
func (s *sources) origin(name string) string {
	variable := envName(name)
	switch {
	case s.flags.Changed(name):
		return "flag --" + name
	case os.Getenv(variable) != "":
		return "environment " + variable
	case s.file != "" && s.viper.InConfig(name):
		return "file " + s.file
	default:
		return "the default"
	}
}

func envName(name string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// strayVariables names the variables that look like settings and are none. Those
// that Kubernetes makes for a Service whose name begins with graylane are left
// out: GRAYLANE_SERVICE_HOST, GRAYLANE_PORT_15006_TCP_ADDR and the like.
func strayVariables(environ []string) []string {
	kubernetes := regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$`)
	var stray []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || isSetting(name) || kubernetes.MatchString(name) {
			continue
		}
		stray = append(stray, name)
	}
	slices.Sort(stray)
	return stray
}

func isSetting(variable string) bool { return slices.Contains(envNames(), variable) }

func envNames() []string {
	names := flagNames()
	for i, name := range names {
		names[i] = envName(name)
	}
	return names
}
