package policy

// What a policy may ask for. The limits keep a slip (a wrong file, a generated
// list, an alias bomb) from taking the memory of the app beside us.
const (
	maxFile     = 4 << 20   // bytes of a policy file: four times what a ConfigMap holds; its tree takes a hundred times as much
	maxList     = 64 << 20  // bytes of one file of values: over a million ids of any usual form
	maxLists    = 256 << 20 // bytes of all files of values together
	maxDepth    = 32        // levels of nesting: the language itself needs 8, the rest is for `not`
	maxAliased  = 100_000   // values reached through aliases: a list of testers used by some rules
	maxRules    = 10_000    // rules
	maxMatches  = 50_000    // matches of all rules together: one bit each per decision
	maxName     = 100       // bytes of a name
	maxValue    = 1024      // bytes of a value that requests are compared with
	maxPatterns = 1000      // regular expressions: each is tried on its own
	maxPattern  = 1024      // bytes of a regular expression
	maxProgram  = 5000      // instructions of a compiled regular expression: `(a{1000}){5}` and the like
)
