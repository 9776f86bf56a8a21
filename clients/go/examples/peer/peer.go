// What a peer does with the sidecar.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolscout/toolscout/clients/go"
)

// tool is the name of the one tool that each peer has.
const tool = "hello"

type peer struct {
	name   string
	client *toolscout.Client
	// hello is the name under which a model sees the peer's tool.
	hello string
	// printing is held while a line is written: changes are told at any time.
	printing sync.Mutex
}

func newPeer(binary, workspace, name string) *peer {
	p := &peer{name: name}
	p.client = toolscout.New(toolscout.Options{
		Binary:    binary,
		Workspace: workspace,
		Shared:    true,
		Handlers:  toolscout.Handlers{Invoke: p.invoke, CatalogChanged: p.changed},
	})
	return p
}

// open registers the tool and prints what there is.
func (p *peer) open(ctx context.Context) error {
	definition, err := json.Marshal(map[string]any{
		"name":        tool,
		"description": fmt.Sprintf("Says hello in %s.", p.name),
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}},
	})
	if err != nil {
		return err
	}
	source := toolscout.SourceParams{Name: p.name, Kind: toolscout.SourceKindMCP}
	if _, err := p.client.Register(ctx, toolscout.RegisterParams{Source: source, Tools: []json.RawMessage{definition}}); err != nil {
		return err
	}
	if _, err := p.client.Assemble(ctx, toolscout.AssembleParams{}); err != nil {
		return err
	}
	list, err := p.client.List(ctx, toolscout.ListParams{Tools: true})
	if err != nil {
		return err
	}
	names := []string{}
	for _, source := range list.Sources {
		for _, listed := range source.Tools {
			names = append(names, listed.Name)
			if source.Name == p.name && listed.Tool == tool {
				p.hello = listed.Name
			}
		}
	}
	slices.Sort(names)
	status, err := p.client.Status(ctx)
	if err != nil {
		return err
	}
	return p.print("ready", map[string]any{"pid": status.PID, "names": names})
}

// do is one line of standard input.
func (p *peer) do(ctx context.Context, line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "call":
		result, err := p.client.ToolCall(ctx, toolscout.Turn{}, p.hello, map[string]string{"text": rest})
		if err != nil {
			return err
		}
		return p.print("answer", result.Content)
	case "search":
		result, err := p.client.ToolSearch(ctx, toolscout.Turn{}, 0, rest)
		if err != nil {
			return err
		}
		var found struct{ Results []struct{ Matches []string } }
		if err := json.Unmarshal(result.Content, &found); err != nil {
			return err
		}
		if len(found.Results) == 0 {
			return fmt.Errorf("no answer to a search: %s", result.Content)
		}
		return p.print("matches", found.Results[0].Matches)
	default:
		return fmt.Errorf("no command %q; there are call and search", verb)
	}
}

func (p *peer) invoke(_ context.Context, call toolscout.InvokeParams) (toolscout.InvokeResult, error) {
	var arguments struct{ Text string }
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return toolscout.InvokeResult{}, err
	}
	content, err := json.Marshal(map[string]string{"from": p.name, "text": arguments.Text})
	return toolscout.InvokeResult{Content: content}, err
}

func (p *peer) changed(change toolscout.DidChangeParams) {
	// Without standard output nobody listens, and standard input closes soon.
	_ = p.print("changed", map[string][]string{"added": change.Added, "removed": change.Removed, "changed": change.Changed})
}

func (p *peer) print(what string, value any) error {
	p.printing.Lock()
	defer p.printing.Unlock()
	return json.NewEncoder(os.Stdout).Encode(map[string]any{what: value})
}
