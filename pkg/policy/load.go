package policy

// Load reads and compiles the policy file at path. The error is Faults where
// the file can be read but is no good policy, else that of reading it.
func Load(path string) (*Policy, error) { return nil, nil }

// Parse compiles data as the policy file called name. The error is Faults.
// Files that `valuesFrom` names are read from the folder of name.
func Parse(name string, data []byte) (*Policy, error) { return nil, nil }
