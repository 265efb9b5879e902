import assert from "node:assert/strict";
import { test } from "node:test";
import type { Candidate, Proposal } from "../../../src/interpreter/candidate";
import { choose } from "../../../src/interpreter/choose";
import { Unusable } from "../../../src/interpreter/probe";

const SETTING: Candidate = { source: "setting", path: "/set/python" };
const PYTHON: Candidate = { source: "python", path: "/selected/python" };
const ON_PATH: Candidate = { source: "path", path: "/usr/bin/python3" };

/** Proposes in order, and notes how far it was asked. */
function proposing(...proposals: Proposal[]) {
  const asked: Proposal[] = [];
  async function* generate() {
    for (const proposal of proposals) {
      asked.push(proposal);
      yield proposal;
    }
  }
  return { asked, proposals: generate() };
}

/** Only these work. */
function working(...paths: string[]) {
  const examined: string[] = [];
  const examine = async ({ path }: Candidate) => {
    examined.push(path);
    if (!paths.includes(path)) {
      throw new Unusable(`${path} is broken.`);
    }
    return path;
  };
  return { examined, examine };
}

test("the first that works is chosen, and nobody is asked after it", async () => {
  const { asked, proposals } = proposing(SETTING, PYTHON, ON_PATH);
  const { examine } = working(SETTING.path, PYTHON.path, ON_PATH.path);
  assert.deepEqual(await choose(proposals, examine), { chosen: SETTING.path, failures: [] });
  assert.deepEqual(asked, [SETTING]);
});

test("what does not work is passed over, with its reason", async () => {
  const missing = { source: "setting", reason: "/gone is not there." } as const;
  const { proposals } = proposing(missing, PYTHON, ON_PATH);
  const { chosen, failures } = await choose(proposals, working(ON_PATH.path).examine);
  assert.equal(chosen, ON_PATH.path);
  assert.deepEqual(failures, [missing, { source: "python", reason: "/selected/python is broken." }]);
});

test("nothing is chosen where nothing works", async () => {
  const { chosen, failures } = await choose(proposing(PYTHON, ON_PATH).proposals, working().examine);
  assert.equal(chosen, undefined);
  assert.deepEqual(
    failures.map(({ source }) => source),
    ["python", "path"],
  );
});

test("an interpreter that two sources propose is examined once", async () => {
  const again: Candidate = { source: "path", path: PYTHON.path };
  const { examined, examine } = working(ON_PATH.path);
  await choose(proposing(PYTHON, again, ON_PATH).proposals, examine);
  assert.deepEqual(examined, [PYTHON.path, ON_PATH.path]);
});

test("an error that says nothing about the interpreter is not taken for one that does", async () => {
  const fault = new TypeError("a fault of ours");
  const examine = () => Promise.reject(fault);
  await assert.rejects(choose(proposing(PYTHON, ON_PATH).proposals, examine), fault);
});
