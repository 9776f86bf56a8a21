// The use of an agent that the README shows. It is compiled, and not run: there is no model.

package toolscout_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolscout/toolscout/clients/go"
)

func ExampleAgent() {
	ctx := context.Background()
	var myTools, toolUses []json.RawMessage
	runTool := func(_ context.Context, call toolscout.InvokeParams) (toolscout.InvokeResult, error) {
		return toolscout.InvokeResult{}, fmt.Errorf("no tool %s", call.Tool)
	}

	agent := toolscout.NewAgent(toolscout.AgentOptions{Run: runTool, Format: toolscout.FormatAnthropic, ContextLength: 200_000})
	defer agent.Close()
	tools, err := agent.ToolsFor(ctx, toolscout.HostTools(myTools))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tools), "tools for the model")
	for _, call := range toolUses {
		result, err := agent.Answer(ctx, call)
		fmt.Printf("%s %v\n", result, err)
	}
}
