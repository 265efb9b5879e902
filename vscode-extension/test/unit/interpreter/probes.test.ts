import assert from "node:assert/strict";
import { rmSync, utimesSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { Launcher } from "../../../src/interpreter/launcher";
import { Unusable, type Working } from "../../../src/interpreter/probe";
import { Probes } from "../../../src/interpreter/probes";
import { Folder } from "../folder";

const LAUNCHER: Launcher = { script: "/ext/bundled/launch.py", strategy: "useBundled", isolated: false };

function answer(python: string): Working {
  const warplint = {
    version: "0.1.0",
    origin: "bundled",
    path: "/ext/bundled/warplint",
    remark: null,
  } as const;
  return { python, executable: "/usr/bin/python3", warplint, libcst: null, pygls: "2.1.1", problem: null };
}

/** Probes that count how often an interpreter is asked; each answer is another. */
function counting(t: TestContext) {
  const folder = new Folder(t);
  const asked: string[] = [];
  const probes = new Probes(async (python) => {
    asked.push(python);
    return answer(`3.12.${asked.length}`);
  });
  return { folder, probes, asked };
}

test("an interpreter is asked once, also by two at the same time", async (t) => {
  const { folder, probes, asked } = counting(t);
  const python = folder.program("python");
  const [one, other] = await Promise.all([probes.report(python, LAUNCHER), probes.report(python, LAUNCHER)]);
  assert.equal(one, other);
  assert.equal(await probes.report(python, LAUNCHER), one);
  assert.deepEqual(asked, [python]);
});

test("another interpreter, and another way to run Warplint, is another question", async (t) => {
  const { folder, probes, asked } = counting(t);
  const [python, other] = [folder.program("python"), folder.program("other")];
  await probes.report(python, LAUNCHER);
  await probes.report(other, LAUNCHER);
  await probes.report(python, { ...LAUNCHER, strategy: "fromEnvironment" });
  await probes.report(python, { ...LAUNCHER, isolated: true });
  assert.deepEqual(asked, [python, other, python, python]);
});

test("an interpreter that was changed is asked again", async (t) => {
  const { folder, probes, asked } = counting(t);
  const python = folder.program("python");
  await probes.report(python, LAUNCHER);
  utimesSync(python, 1, 1);
  assert.equal((await probes.report(python, LAUNCHER)).python, "3.12.2");
  assert.equal(asked.length, 2);
});

test("an environment that was made anew on the same Python is asked again", async (t) => {
  const { folder, probes, asked } = counting(t);
  const base = folder.program("base");
  const python = folder.link("env/python", base);
  await probes.report(python, LAUNCHER);
  rmSync(python);
  folder.write("something", "that takes the place of the link on the disk");
  folder.link("env/python", base);
  await probes.report(python, LAUNCHER);
  assert.equal(asked.length, 2);
});

test("what was forgotten is asked again", async (t) => {
  const { folder, probes, asked } = counting(t);
  const python = folder.program("python");
  await probes.report(python, LAUNCHER);
  probes.forget();
  await probes.report(python, LAUNCHER);
  assert.equal(asked.length, 2);
});

test("one that does not work is asked again", async (t) => {
  const python = new Folder(t).program("python");
  const outcomes = [Promise.reject(new Unusable("too old")), Promise.resolve(answer("3.12.1"))];
  const probes = new Probes(() => outcomes.shift() ?? Promise.reject(new Error("asked too often")));
  await assert.rejects(probes.report(python, LAUNCHER), Unusable);
  assert.equal((await probes.report(python, LAUNCHER)).python, "3.12.1");
});
