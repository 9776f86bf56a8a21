// Which tools were given inline with a call that may run them.

package toolscout

import "encoding/json"

// inline remembers names alone, of all calls: a few for each set of tools that a host has.
type inline struct {
	sources map[string]bool
	// names are of definitions that say no source: theirs is made of the name.
	names map[string]bool
}

// add notes the definitions; what is none is the sidecar's to refuse.
func (i *inline) add(definitions []json.RawMessage) {
	for _, text := range definitions {
		var definition struct {
			Source   struct{ Name string }
			Name     string
			Function struct{ Name string }
		}
		if json.Unmarshal(text, &definition) != nil {
			continue
		}
		if i.sources == nil {
			i.sources, i.names = map[string]bool{}, map[string]bool{}
		}
		switch {
		case definition.Source.Name != "":
			i.sources[definition.Source.Name] = true
		case definition.Name != "":
			i.names[definition.Name] = true
		default:
			i.names[definition.Function.Name] = true
		}
	}
}

// has says whether a tool was among them, by its visible name or by its source.
func (i *inline) has(name, source string) bool { return i.names[name] || i.sources[source] }
