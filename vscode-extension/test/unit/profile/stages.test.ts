import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords, StageReader } from "../../../src/profile/stages";

const FINISHED = {
  state: "finished",
  exit: 0,
  signal: null,
  captured: true,
  said: ["captured steps 4 to 5"],
};
const TOLD = [
  { state: "started", folder: "/p/.warplint/1-train" },
  { state: "waiting", steps: 1 },
  { state: "capturing", steps: 10 },
  { state: "captured" },
  FINISHED,
];
const FILE = TOLD.map((stage) => `${JSON.stringify(stage)}\n`).join("");

test("lines are stages", () => {
  assert.deepEqual(new StageReader().read(FILE), TOLD);
});

test("a file read in pieces, wherever they end, says the same", () => {
  for (let size = 1; size < FILE.length; size += 1) {
    const reader = new StageReader();
    const stages = [];
    for (let start = 0; start < FILE.length; start += size) {
      stages.push(...reader.read(FILE.slice(start, start + size)));
    }
    assert.deepEqual(stages, TOLD, `in pieces of ${size}`);
  }
});

test("a line that is not yet whole says nothing", () => {
  assert.deepEqual(new StageReader().read('{"state":"captured"}'), []);
});

for (const [what, line] of Object.entries({
  "an unknown state": '{"state":"resting"}',
  "a missing number": '{"state":"waiting"}',
  "a wrong type": '{"state":"finished","exit":"0","signal":null,"captured":true,"said":[]}',
  "sentences that are none": '{"state":"finished","exit":0,"signal":null,"captured":true,"said":[1]}',
  "no object": "[]",
  null: "null",
  "an inherited name": '{"state":"toString"}',
  "no JSON": "{",
  "an empty line": "",
})) {
  test(`${what} is passed over`, () => {
    assert.deepEqual(new StageReader().read(`${line}\n{"state":"captured"}\n`), [{ state: "captured" }]);
  });
}

test("each stage has its words", () => {
  assert.deepEqual(new StageReader().read(FILE).map(inWords), [
    "running; waiting for its first step",
    "waiting for step times to settle (1 step)",
    "capturing 10 steps",
    "captured; the program goes on",
    "done",
  ]);
});
