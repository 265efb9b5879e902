const assert = require("node:assert/strict");
const vscode = require("vscode");
const { lineOf, show, until } = require("../steps.cjs");

const FILE = "train.py";
const FORWARD = "x = F.relu(self.first_norm(self.first(x)))";
const MOST_RESOLVED = 20;

const lenses = (uri) => vscode.commands.executeCommand("vscode.executeCodeLensProvider", uri, MOST_RESOLVED);

module.exports = {
  "each measured function has a lens": async () => {
    const document = await show(FILE);
    const found = await until("lenses", async () => {
      const all = await lenses(document.uri);
      return all.length > 0 && all;
    });
    const line = document.getText().slice(0, document.getText().indexOf(FORWARD)).split("\n").length - 2;
    const forward = found.find(({ range }) => range.start.line === line);
    assert.match(forward.command.title, /^[\d.]+ ms a step · \d+(\.\d)?%/);
    assert.equal(forward.command.command, "");
  },

  "lenses go and come with the setting": async () => {
    const document = await show(FILE);
    const setting = vscode.workspace.getConfiguration("warplint.costs");
    await setting.update("codeLens", false, vscode.ConfigurationTarget.Global);
    await until("no lenses", async () => (await lenses(document.uri)).length === 0);
    await setting.update("codeLens", undefined, vscode.ConfigurationTarget.Global);
    await until("lenses", async () => (await lenses(document.uri)).length > 0);
  },

  "costs are drawn once: there are no inlay hints besides": async () => {
    const document = await show(FILE);
    const all = new vscode.Range(0, 0, document.lineCount, 0);
    const hints = await vscode.commands.executeCommand("vscode.executeInlayHintProvider", document.uri, all);
    assert.deepEqual(hints ?? [], []);
  },

  "the hover has the table of a line's costs": async () => {
    const document = await show(FILE);
    const place = new vscode.Position(lineOf(document, FORWARD), 12);
    const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", document.uri, place);
    const text = hovers.flatMap(({ contents }) => contents.map(({ value }) => value)).join("\n");
    assert.match(text, /\| a step, of 10 steps on NVIDIA H200, [^|]+ \| this line \|/);
    assert.match(text, /\| GPU busy \| 16\.\d+ ms \|/);
  },
};
