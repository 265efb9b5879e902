const assert = require("node:assert/strict");
const vscode = require("vscode");
const { diagnostics, lineOf, show } = require("../steps.cjs");

const FILE = "train.py";
const FINDINGS = 8;
const MADE = "z = torch.arange(depth).to(x.device)";
const READ = "running += loss.item()";
const LOADER = "loader = DataLoader(";
const WITH_LIBCST = process.env.WARPLINT_API_LIBCST === "yes";
const MOST_RESOLVED = 20;

/** The code actions on the line that has `code` in it. */
async function actions(document, code, kind) {
  await diagnostics(document.uri, FINDINGS);
  const line = document.lineAt(lineOf(document, code));
  return vscode.commands.executeCommand(
    "vscode.executeCodeActionProvider",
    document.uri,
    line.range,
    kind,
    MOST_RESOLVED,
  );
}

async function applied(action, document) {
  await vscode.workspace.applyEdit(action.edit);
  const text = document.getText();
  await vscode.commands.executeCommand("undo");
  return text;
}

const withLibcst = {
  "a safe fix is preferred, and changes its finding's line": async () => {
    const document = await show(FILE);
    const fix = (await actions(document, MADE)).find(({ title }) => title === "Build it on x.device");
    assert.equal(fix.isPreferred, true);
    assert.equal(fix.disabled, undefined);
    const before = document.getText();
    const after = await applied(fix, document);
    assert.equal(after, before.replace(MADE, "z = torch.arange(depth, device=x.device)"));
  },

  "an unsafe fix says so, and is not preferred": async () => {
    const document = await show(FILE);
    const fix = (await actions(document, LOADER)).find(({ title }) => title.includes("num_workers"));
    assert.match(fix.title, /unsafe/);
    assert.notEqual(fix.isPreferred, true);
  },

  "fix-all makes the safe fixes and no others": async () => {
    const document = await show(FILE);
    const kind = vscode.CodeActionKind.SourceFixAll.append("warplint").value;
    const [all, ...more] = await actions(document, MADE, kind);
    assert.equal(more.length, 0);
    const after = await applied(all, document);
    assert.equal(after.match(/torch\.arange\(\w+, device=x\.device\)/g).length, 3);
    assert.match(after, /loss\.item\(\)/);
    assert.match(after, /shuffle=True\)/);
  },
};

// That they are shown disabled, with the remedy, is seen in the user interface alone.
const withoutLibcst = {
  "fixes that cannot be made are not given out": async () => {
    const document = await show(FILE);
    const titles = (await actions(document, MADE)).map(({ title }) => title);
    assert.deepEqual(titles, ["Ignore WL101 here"]);
  },
};

module.exports = {
  ...(WITH_LIBCST ? withLibcst : withoutLibcst),

  "a finding can be ignored where it is": async () => {
    const document = await show(FILE);
    const ignore = (await actions(document, READ)).find(({ title }) => title === "Ignore WL201 here");
    const after = await applied(ignore, document);
    assert.match(after, /loss\.item\(\) {2}# warplint: ignore\[WL201\]/);
  },
};
