const assert = require("node:assert/strict");
const vscode = require("vscode");

/** The host has no terminals where its module for them is left out. */
const WITH_TERMINALS = process.env.WARPLINT_API_TERMINALS === "yes";

const ended = (execution) =>
  new Promise((resolve) => {
    const subscription = vscode.tasks.onDidEndTaskProcess((event) => {
      if (event.execution.task.name === execution.task.name) {
        subscription.dispose();
        resolve(event.exitCode);
      }
    });
  });

module.exports = {
  "a task of tasks.json is known": async () => {
    const [task, ...more] = await vscode.tasks.fetchTasks({ type: "warplint" });
    assert.equal(more.length, 0);
    assert.equal(task.definition.file, "quick.py");
  },

  ...(WITH_TERMINALS && {
    "and runs its program": async () => {
      const [task] = await vscode.tasks.fetchTasks({ type: "warplint" });
      const execution = await vscode.tasks.executeTask(task);
      assert.equal(await ended(execution), 7);
    },
  }),
};
