// The tree of deferred tools: sources, and under each its tools.

import type { ListedSource, ListedTool, Toolscout } from "toolscout-client";
import * as vscode from "vscode";

/** A line of the tree. */
type Node = { source: ListedSource } | { tool: ListedTool };

/** What the view shows; asks the sidecar anew whenever it is refreshed. */
export class DeferredTools implements vscode.TreeDataProvider<Node> {
  readonly #client: Toolscout;
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;

  constructor(client: Toolscout) {
    this.#client = client;
  }

  refresh(): void {
    this.#changed.fire(undefined);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ("tool" in node) {
      const item = new vscode.TreeItem(node.tool.tool);
      item.tooltip = node.tool.name;
      item.iconPath = new vscode.ThemeIcon("tools");
      return item;
    }
    const { label, state } = node.source;
    const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Expanded);
    item.description = `${deferred(node.source).length} deferred${state === "ready" ? "" : `, ${state}`}`;
    item.iconPath = new vscode.ThemeIcon("server");
    return item;
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) {
      return (await this.#sources()).map((source) => ({ source }));
    }
    return "source" in node ? deferred(node.source).map((tool) => ({ tool })) : [];
  }

  /** The message of an error says what to do, so it is shown as it is. */
  async #sources(): Promise<ListedSource[]> {
    try {
      const { sources } = await this.#client.list({ tools: true });
      return sources.filter((source) => deferred(source).length > 0);
    } catch (error) {
      void vscode.window.showErrorMessage(`Toolscout: ${error instanceof Error ? error.message : error}`);
      return [];
    }
  }
}

function deferred({ tools = [] }: ListedSource): ListedTool[] {
  return tools.filter((tool) => tool.deferred);
}
