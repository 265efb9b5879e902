import assert from "node:assert/strict";
import { delimiter } from "node:path";
import { test } from "node:test";
import { interpreterAt, interpretersOnPath } from "../../../src/interpreter/executable";
import { Folder } from "../folder";

test("python3 is preferred to python, and an earlier entry to a later one", (t) => {
  const folder = new Folder(t);
  const python = folder.program("first/python");
  const inFirst = folder.program("first/python3");
  const inSecond = folder.program("second/python3");
  const path = [folder.at("missing"), folder.at("first"), folder.at("second")].join(delimiter);
  assert.deepEqual(interpretersOnPath(path), [inFirst, inSecond, python]);
});

test("relative and empty entries are not followed", (t) => {
  const folder = new Folder(t);
  folder.program("bin/python3");
  const before = process.cwd();
  process.chdir(folder.path);
  t.after(() => process.chdir(before));
  assert.deepEqual(interpretersOnPath(["", ".", "bin", "./bin"].join(delimiter)), []);
  process.chdir(folder.at("bin"));
  assert.deepEqual(interpretersOnPath(["", "."].join(delimiter)), []);
});

test("what cannot be run is no interpreter", (t) => {
  const folder = new Folder(t);
  folder.write("text/python3", "print('hello')\n");
  folder.program("folder/python3/inside");
  folder.link("dangling/python3", folder.at("gone"));
  const path = ["text", "folder", "dangling"].map((name) => folder.at(name)).join(delimiter);
  assert.deepEqual(interpretersOnPath(path), []);
});

test("another name is looked for when one is given", (t) => {
  const folder = new Folder(t);
  const python = folder.program("bin/python3.12");
  folder.program("bin/python3");
  assert.deepEqual(interpretersOnPath(folder.at("bin"), ["python3.12"]), [python]);
});

test("an environment's folder means its interpreter", (t) => {
  const folder = new Folder(t);
  const python = folder.program(".venv/bin/python");
  assert.equal(interpreterAt(folder.at(".venv")), python);
  assert.equal(interpreterAt(python), python);
  assert.equal(interpreterAt(folder.at("gone")), undefined);
  assert.equal(interpreterAt(folder.path), undefined);
});
