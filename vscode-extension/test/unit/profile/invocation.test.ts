import assert from "node:assert/strict";
import { test } from "node:test";
import { commandLine, processOf, profilingOf } from "../../../src/profile/invocation";

const INVOCATION = {
  warplintPython: "/usr/bin/python3",
  launcher: { script: "/ext/bundled/launch.py", strategy: "useBundled", isolated: false },
  programPython: "/venv/bin/python",
  progressFile: "/tmp/run-1.jsonl",
  steps: 5,
  file: "/project/my train.py",
  arguments: ["--epochs", "1", "--", "--progress"],
} as const;
const COMMAND = ["/venv/bin/python", "/project/my train.py", "--epochs", "1", "--", "--progress"];

test("Warplint's Python runs the launcher, which runs the program's Python", () => {
  assert.deepEqual(processOf(INVOCATION), {
    process: "/usr/bin/python3",
    args: [
      ...["-E", "/ext/bundled/launch.py", "--import-strategy", "useBundled"],
      ...["run", "--progress", "/tmp/run-1.jsonl", "--steps", "5", "--name", "my train", "--", ...COMMAND],
    ],
  });
});

test("a process that profiles can be told by its arguments", () => {
  const { args } = processOf(INVOCATION);
  assert.deepEqual(profilingOf(args), { progressFile: "/tmp/run-1.jsonl", command: COMMAND });
});

for (const args of [[], ["train.py"], ["run", "--progress"], ["run", "--", "python", "train.py"]]) {
  test(`[${args.join(" ")}] profiles nothing that could be followed`, () => {
    assert.equal(profilingOf(args), undefined);
  });
}

test("a command line is read as it could be typed", () => {
  assert.equal(
    commandLine(["/venv/bin/python", "my train.py", "--lr=1e-3", "", "a'b"]),
    `/venv/bin/python "my train.py" --lr=1e-3 "" "a'b"`,
  );
});
