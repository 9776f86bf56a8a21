// A VS Code extension that shows which tools of the opened folder are deferred. The sidecar is shared with all who serve
// the folder, started when the view is first shown, and asked again when files change.

import { Toolscout } from "toolscout-client";
import * as vscode from "vscode";
import { DeferredTools } from "./tools.js";

let client: Toolscout | undefined;

/** Called by VS Code when the view is shown. */
export function activate(context: vscode.ExtensionContext): void {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file");
  if (folder === undefined) {
    return;
  }
  const output = vscode.window.createOutputChannel("Toolscout", { log: true });
  const problems = vscode.languages.createDiagnosticCollection("toolscout");
  client = new Toolscout({
    binary: vscode.workspace.getConfiguration("toolscout").get<string>("binary") || undefined,
    shared: true,
    workspace: folder.uri.fsPath,
    trust: vscode.workspace.isTrusted,
    clientInfo: { name: "toolscout-tools", version: context.extension.packageJSON.version },
    onDidChange: () => tools.refresh(),
    onDiagnostics: ({ file, diagnostics }) => {
      if (file !== "") {
        problems.set(vscode.Uri.file(file), diagnostics.map(problem));
      }
    },
    onStderr: (line) => output.info(line),
    onLog: (text) => output.warn(text),
  });
  const tools = new DeferredTools(client);
  context.subscriptions.push(
    output,
    problems,
    vscode.window.registerTreeDataProvider("toolscout.tools", tools),
    vscode.commands.registerCommand("toolscout.refresh", () => tools.refresh()),
  );
}

/** Called by VS Code before it ends; it waits for the promise. */
export async function deactivate(): Promise<void> {
  await client?.close();
}

/** Lines and columns are counted from 1 by the sidecar, which says 0 for unknown, and from 0 by VS Code. */
function problem(found: { line: number; column: number; severity: string; message: string }): vscode.Diagnostic {
  const at = new vscode.Position(Math.max(found.line - 1, 0), Math.max(found.column - 1, 0));
  const severity = found.severity === "error" ? vscode.DiagnosticSeverity.Error : vscode.DiagnosticSeverity.Warning;
  return new vscode.Diagnostic(new vscode.Range(at, at), found.message, severity);
}
