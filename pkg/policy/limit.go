package policy

// What a policy may ask for. The limits keep a slip (a wrong file, a generated
// list, an alias bomb) from taking the memory of the app beside us.
const (
	maxFile     = 4 << 20   // bytes of a policy file: four times what a ConfigMap holds
	maxList     = 64 << 20  // bytes of one file of values: over a million ids of any usual form
	maxLists    = 256 << 20 // bytes of all files of values together
	maxValues   = 300_000   // values of a policy file, by their marks: each takes some 200 bytes until it is compiled; 10,000 rules have 200,000
	maxKeys     = 1000      // keys of one mapping: there are as many as the language has, and one for each tag or label
	maxFaults   = 1000      // faults: who has so many has given the wrong file
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
