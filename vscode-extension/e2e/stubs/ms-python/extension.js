// The selected interpreter is the path in PYTHON_STAND_IN at first, and after the command what its input box is given.
const vscode = require("vscode");

exports.activate = (context) => {
  let selected = process.env.PYTHON_STAND_IN;
  const changed = new vscode.EventEmitter();
  const environment = (path) => ({
    id: path,
    path,
    executable: { uri: vscode.Uri.file(path), bitness: "64-bit", sysPrefix: undefined },
    environment: undefined,
    version: undefined,
    tools: [],
  });
  context.subscriptions.push(
    changed,
    vscode.commands.registerCommand("python.setInterpreter", async () => {
      const path = await vscode.window.showInputBox({ prompt: "Path of a Python interpreter" });
      if (path) {
        selected = path;
        changed.fire({ id: path, path, resource: undefined });
      }
    }),
  );
  return {
    ready: Promise.resolve(),
    environments: {
      known: [],
      onDidChangeActiveEnvironmentPath: changed.event,
      onDidChangeEnvironments: new vscode.EventEmitter().event,
      onDidEnvironmentVariablesChange: new vscode.EventEmitter().event,
      getActiveEnvironmentPath: () => ({ id: selected, path: selected }),
      resolveEnvironment: async (wanted) => environment(typeof wanted === "string" ? wanted : wanted.path),
      getEnvironmentVariables: () => ({}),
      refreshEnvironments: async () => undefined,
    },
  };
};
