// The host's tools, by where they come from.

package toolscout

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
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
	} else if at := slices.IndexFunc(params.Tools, isSource); at >= 0 {
		err = fmt.Errorf("toolscout: item %d of the tools of source %q is a source itself; give it to ToolsFor beside this one", at, s.Source.Name)
	}
	return params, sha256.Sum256(text), err
}

// isSource says whether what should be a tool is a source, which begins with that member however it is written.
func isSource(tool json.RawMessage) bool {
	var members struct{ Source, Tools json.RawMessage }
	return bytes.HasPrefix(tool, []byte(`{"source":`)) && json.Unmarshal(tool, &members) == nil && members.Tools != nil
}
