package policy

// FileSpec is a file of endpoints; the path alone is short for {path: ...}.
type FileSpec struct {
	Path   string            `yaml:"path" need:"yes" short:"yes" doc:"JSON in the form of Prometheus' file_sd, read again whenever it changes: [{\"targets\": [\"10.0.0.1:8080\"], \"labels\": {\"zone\": \"a\", \"weight\": \"2\"}}]. Relative to the policy file."`
	Labels map[string]string `yaml:"labels" doc:"Only the groups that have all of these labels; \"\" is for those without the label."`
}
