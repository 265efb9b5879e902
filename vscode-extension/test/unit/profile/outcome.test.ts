import assert from "node:assert/strict";
import { test } from "node:test";
import { type End, outcomeOf } from "../../../src/profile/outcome";
import type { Finished } from "../../../src/profile/stages";

const COMMAND = "/venv/bin/python train.py";
const CAPTURED: Finished = {
  state: "finished",
  exit: 0,
  signal: null,
  captured: true,
  said: ["captured steps"],
};
const NOTHING: Finished = {
  ...CAPTURED,
  captured: false,
  said: ["nothing was captured: no process imported torch"],
};

function outcome(finished: Finished | undefined, end: Partial<End> = {}) {
  return outcomeOf(
    { finished, exitCode: finished?.exit ?? undefined, cancelled: false, ...end },
    "train.py",
    COMMAND,
  );
}

test("a run that was captured is a word in passing", () => {
  assert.deepEqual(outcome(CAPTURED), { kind: "passing", text: "train.py: costs captured" });
});

test("a program without torch is told, with the reason", () => {
  assert.deepEqual(outcome(NOTHING), {
    kind: "warning",
    text: "Nothing was captured of train.py: no process imported torch.",
  });
});

test("a program that failed is told with reason and command", () => {
  assert.deepEqual(outcome({ ...NOTHING, exit: 1 }), {
    kind: "error",
    text:
      "train.py failed with exit code 1, and nothing was captured: no process imported torch. " +
      "It ran as: /venv/bin/python train.py. " +
      'If packages are missing there, name another Python in the setting "warplint.program.interpreter".',
  });
});

test("a program that failed after its window is told, and that there are costs", () => {
  assert.deepEqual(outcome({ ...CAPTURED, exit: 3 }), {
    kind: "warning",
    text: "Costs of train.py were captured, but it failed with exit code 3. It ran as: /venv/bin/python train.py",
  });
});

test("a program that the system killed is told with its signal", () => {
  const { kind, text } = { text: "", ...outcome({ ...NOTHING, exit: null, signal: 9 }) };
  assert.equal(kind, "error");
  assert.match(text, /^train\.py was killed by signal 9, and nothing was captured/);
});

test("Warplint's own failure is told with its exit code", () => {
  const { kind, text } = { text: "", ...outcome(undefined, { exitCode: 2 }) };
  assert.equal(kind, "error");
  assert.match(text, /exit code 2.*\/venv\/bin\/python train\.py$/);
});

for (const [who, end] of Object.entries({
  "cancelled from the notification": outcome({ ...NOTHING, exit: null, signal: 15 }, { cancelled: true }),
  "cancelled before anything was told": outcome(undefined, { cancelled: true, exitCode: 1 }),
  "stopped by Ctrl-C": outcome({ ...NOTHING, exit: null, signal: 2 }),
  "stopped after its window": outcome({ ...CAPTURED, exit: null, signal: 2 }),
  "ended with its terminal": outcome(undefined, { exitCode: undefined }),
})) {
  test(`nothing is said to the user who has ${who}`, () => {
    assert.deepEqual(end, { kind: "none" });
  });
}
