const assert = require("node:assert/strict");
const vscode = require("vscode");
const { extension, show } = require("../steps.cjs");

module.exports = {
  "a workspace is left alone until a Python file is opened": async () => {
    await show("README.md");
    assert.equal(extension().isActive, false);
  },

  "activation does not hold up others": async (figure) => {
    const before = performance.now();
    await extension().activate();
    figure("activation ms", Math.round(performance.now() - before));
    assert.equal(extension().isActive, true);
  },

  "every command that is offered exists": async () => {
    const existing = new Set(await vscode.commands.getCommands(true));
    const { commands } = extension().packageJSON.contributes;
    // The entry that only says why a file cannot be profiled is never enabled.
    const offered = commands.map(({ command }) => command).filter((name) => !name.endsWith(".untrusted"));
    assert.ok(offered.length > 0);
    assert.deepEqual(
      offered.filter((name) => !existing.has(name)),
      [],
    );
  },

  "no command exists but by name of Warplint": async () => {
    const own = (await vscode.commands.getCommands(true)).filter((name) => name.startsWith("warplint."));
    const offered = new Set(extension().packageJSON.contributes.commands.map(({ command }) => command));
    for (const name of offered) {
      assert.match(name, /^warplint\./);
    }
    assert.ok(own.length >= offered.size - 1);
  },

  "every setting has its default, a description and a scope": () => {
    const { properties } = extension().packageJSON.contributes.configuration;
    assert.deepEqual(Object.keys(properties).toSorted(), [
      "warplint.costs.codeLens",
      "warplint.costs.inline",
      "warplint.costs.minimumShare",
      "warplint.enable",
      "warplint.importStrategy",
      "warplint.profile.arguments",
      "warplint.profile.steps",
      "warplint.program.interpreter",
      "warplint.score.show",
      "warplint.server.interpreter",
      "warplint.trace.server",
      "warplint.workspaceDiagnostics",
    ]);
    for (const [name, { default: value, markdownDescription, scope }] of Object.entries(properties)) {
      assert.deepEqual(vscode.workspace.getConfiguration().inspect(name).defaultValue, value, name);
      assert.ok(markdownDescription.endsWith(".") || markdownDescription.endsWith(")"), name);
      assert.ok(["window", "resource", "machine-overridable"].includes(scope), name);
    }
  },
};
