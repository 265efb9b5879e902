const assert = require("node:assert/strict");
const vscode = require("vscode");
const { diagnostics, lineOf, show, uri } = require("../steps.cjs");

const FILE = "train.py";
// Six of the rules, and two that the workspace's capture makes by itself once it is read.
const FINDINGS = 8;
const { Error: COSTLY, Warning, Information, Hint } = vscode.DiagnosticSeverity;
/** By what was measured of them. */
const SEVERITIES = {
  WL052: Warning,
  WL055: COSTLY,
  WL101: Information,
  WL201: Information,
  WL301: COSTLY,
  WL502: Hint,
};
const MADE = "z = torch.arange(depth).to(x.device)";

module.exports = {
  "findings are diagnostics with a code that leads to its page": async () => {
    const document = await show(FILE);
    const found = await diagnostics(document.uri, FINDINGS);
    const codes = found.map(({ code }) => code.value).toSorted();
    assert.deepEqual(codes, ["WL052", "WL055", "WL101", "WL101", "WL101", "WL201", "WL301", "WL502"]);
    for (const { code, source, severity } of found) {
      assert.equal(source, "warplint");
      assert.equal(severity, SEVERITIES[code.value]);
      assert.equal(code.target.toString(), `warplint-rule:/${code.value}.md`);
    }
    const loader = found.find(({ code }) => code.value === "WL301");
    assert.equal(loader.relatedInformation.length, 2);
  },

  "a rule's page is a document": async () => {
    const page = await vscode.workspace.openTextDocument(vscode.Uri.parse("warplint-rule:/WL201.md"));
    assert.match(page.getText(), /^# WL201 host-read-in-hot-loop/);
  },

  "a page that there is not says so": async () => {
    const page = await vscode.workspace.openTextDocument(vscode.Uri.parse("warplint-rule:/WL999.md"));
    assert.match(page.getText(), /cannot be shown.*WL999/s);
  },

  "the page about the score comes with the extension": async () => {
    const page = await vscode.workspace.openTextDocument(vscode.Uri.parse("warplint-rule:/score.md"));
    assert.match(page.getText(), /^# The GPU-friendliness score/);
  },

  "the hover of a finding gives the reason": async () => {
    const document = await show(FILE);
    const place = new vscode.Position(lineOf(document, MADE), 20);
    const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", document.uri, place);
    const text = hovers.flatMap(({ contents }) => contents.map(({ value }) => value)).join("\n");
    assert.match(text, /WL101 host-tensor-in-hot-code/);
    assert.match(text, /the host waits for all work queued on the GPU/);
  },

  "findings go when the file is closed": async () => {
    await show(FILE);
    await diagnostics(uri(FILE), FINDINGS);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
    await diagnostics(uri(FILE), 0);
  },
};
