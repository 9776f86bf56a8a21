// The loop: tools for the model, the model's calls, and what goes back to it.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolscout/toolscout/clients/go"
)

type loop struct {
	scenario scenario
	// workspace is the folder in which the scenario's files are.
	workspace string
	out       io.Writer
	agent     *toolscout.Agent
	// changes are told by the sidecar.
	changes chan toolscout.DidChangeParams
	// tools is the array of the last turn.
	tools []json.RawMessage
	// decisions is how many of the person's were used.
	decisions int
}

func newLoop(s scenario, folder string, out io.Writer) (*loop, error) {
	l := &loop{scenario: s, workspace: filepath.Join(folder, "workspace"), out: out, changes: make(chan toolscout.DidChangeParams, 1)}
	if err := writeFiles(l.workspace, s.Files); err != nil {
		return nil, err
	}
	l.agent = toolscout.NewAgent(toolscout.AgentOptions{
		Options: toolscout.Options{
			Workspace: l.workspace,
			// Without the settings and tools of whoever runs this.
			Env:      []string{"XDG_CONFIG_HOME=" + filepath.Join(folder, "config")},
			Handlers: toolscout.Handlers{CatalogChanged: func(change toolscout.DidChangeParams) { l.changes <- change }},
		},
		Run:           l.runTool,
		RunOthers:     true, // those of the workspace's registry files
		Format:        toolscout.FormatOpenAI,
		ContextLength: 200_000,
	})
	return l, nil
}

func (l *loop) run(ctx context.Context) error {
	for _, turn := range l.scenario.Turns {
		var err error
		switch {
		case turn.calls != nil:
			err = l.calls(ctx, turn.calls)
		case turn.Write != nil:
			err = l.write(ctx, turn.Write)
		default:
			l.print("model: %s", turn.text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// calls is a turn in which the model calls tools.
func (l *loop) calls(ctx context.Context, calls []call) error {
	tools, err := l.agent.ToolsFor(ctx, l.scenario.Sources...)
	if err != nil {
		return err
	}
	if err := l.printTools(tools); err != nil {
		return err
	}
	for _, call := range calls {
		l.print("model: %s %s", call.Name, sorted(call.Arguments))
		answer, err := l.agent.Answer(ctx, call)
		if err != nil {
			return err
		}
		if err := l.printAnswer(answer); err != nil {
			return err
		}
	}
	return nil
}

// runTool is what the agent calls to run a tool of the host's.
func (l *loop) runTool(_ context.Context, call toolscout.InvokeParams) (toolscout.InvokeResult, error) {
	if slices.Contains(l.scenario.NeedsApproval, call.Name) {
		decision := l.scenario.Decisions[l.decisions]
		l.decisions++
		l.print("approve: %s %s", call.Name, decision)
		if decision != toolscout.DecisionAllow {
			return toolscout.InvokeResult{}, errors.New("A person said no.")
		}
	}
	l.print("run: %s %s", call.Name, sorted(call.Arguments))
	return toolscout.InvokeResult{Content: l.scenario.Results[call.Name]}, nil
}

// write edits the registry, and waits until the sidecar has told of it.
func (l *loop) write(ctx context.Context, files map[string]json.RawMessage) error {
	if err := writeFiles(l.workspace, files); err != nil {
		return err
	}
	for path := range files {
		l.print("write: %s", path)
	}
	select {
	case change := <-l.changes:
		l.printNames("changed: added", change.Added)
		l.printNames("changed: removed", change.Removed)
		l.printNames("changed: changed", change.Changed)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *loop) printTools(tools []json.RawMessage) error {
	// The same array is the same slice.
	if len(tools) > 0 && len(tools) == len(l.tools) && &tools[0] == &l.tools[0] {
		l.print("tools: unchanged")
		return nil
	}
	l.tools = tools
	var names []string
	for _, text := range tools {
		var tool struct{ Function struct{ Name string } }
		if err := json.Unmarshal(text, &tool); err != nil {
			return err
		}
		names = append(names, tool.Function.Name)
	}
	l.printNames("tools:", names)
	return nil
}

func (l *loop) printNames(what string, names []string) {
	if len(names) > 0 {
		l.print("%s %s", what, strings.Join(names, ", "))
	}
}

func (l *loop) printAnswer(text json.RawMessage) error {
	var answer struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	what := "result"
	if answer.IsError {
		what = "error"
	}
	for _, block := range answer.Content {
		l.print("%s: %s", what, sorted([]byte(block.Text)))
	}
	return nil
}

func (l *loop) print(pattern string, values ...any) {
	fmt.Fprintf(l.out, pattern+"\n", values...)
}
