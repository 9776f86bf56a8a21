// The host's tools, by where they come from.

package toolscout

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Source is a source and its tools.
type Source struct {
	// Source says what it is: a name and a kind at least.
	Source SourceParams `json:"source"`
	// Tools is any value that marshals to an array of definitions, in the shape of OpenAI, Anthropic or MCP.
	Tools any `json:"tools"`
}

// HostTools makes one source of a flat list: `host`, whose tools are a plugin's, and so deferred unless they are core tools.
func HostTools(tools any) Source {
	return Source{Source: SourceParams{Name: "host", Kind: SourceKindPlugin}, Tools: tools}
}

// params are what registers the source, and a hash of all of it.
func (s Source) params() (RegisterParams, [sha256.Size]byte, error) {
	params := RegisterParams{Source: s.Source}
	text, err := encode(s)
	if err == nil {
		err = json.Unmarshal(text, &params)
	}
	if err != nil {
		err = fmt.Errorf("toolscout: the tools of source %q are no array of definitions: %w", s.Source.Name, err)
	}
	return params, sha256.Sum256(text), err
}
