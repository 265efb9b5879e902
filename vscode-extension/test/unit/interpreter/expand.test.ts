import assert from "node:assert/strict";
import { test } from "node:test";
import { expandPath, isBareName, UnusablePath } from "../../../src/interpreter/expand";

const around = {
  workspaceFolder: "/work space/net",
  userHome: "/home/ada",
  environment: { CONDA: "/opt/conda", EMPTY: "" },
};

const MEANT: [string, string][] = [
  ["/usr/bin/python3", "/usr/bin/python3"],
  ["~/venv/bin/python", "/home/ada/venv/bin/python"],
  ["~", "/home/ada"],
  ["~other/bin/python", "/work space/net/~other/bin/python"],
  ["${userHome}/venv/bin/python", "/home/ada/venv/bin/python"],
  ["${workspaceFolder}/.venv/bin/python", "/work space/net/.venv/bin/python"],
  ["${env:CONDA}/bin/python", "/opt/conda/bin/python"],
  ["${env:EMPTY}/bin/python", "/bin/python"],
  [".venv/bin/python", "/work space/net/.venv/bin/python"],
  ["./.venv/bin/python", "/work space/net/.venv/bin/python"],
  ["../shared/bin/python", "/work space/shared/bin/python"],
  ["  /usr/bin/python3\n", "/usr/bin/python3"],
  ["python3.12", "python3.12"],
];

for (const [written, meant] of MEANT) {
  test(`${JSON.stringify(written)} means ${meant}`, () => {
    assert.equal(expandPath(written, around), meant);
  });
}

for (const written of [42, true, ["/usr/bin/python3"], {}]) {
  test(`${JSON.stringify(written)} is no path, and that is said`, () => {
    assert.throws(() => expandPath(written, around), UnusablePath);
  });
}

for (const written of ["${env:NOT_SET}/bin/python", "${workspaceRoot}/bin/python", "${env:}/python"]) {
  test(`${written} means nothing, and the variable is named`, () => {
    assert.throws(
      () => expandPath(written, around),
      (error) => error instanceof UnusablePath && error.message.startsWith("${"),
    );
  });
}

test("a replaced value is not searched for variables again", () => {
  const environment = { NESTED: "${userHome}" };
  assert.equal(expandPath("/x/${env:NESTED}", { ...around, environment }), "/x/${userHome}");
});

test("without a folder, a path relative to it means nothing", () => {
  const nowhere = { ...around, workspaceFolder: undefined };
  assert.throws(() => expandPath("${workspaceFolder}/bin/python", nowhere), UnusablePath);
  assert.throws(() => expandPath(".venv/bin/python", nowhere), UnusablePath);
});

test("a bare name is one without a folder", () => {
  assert.ok(isBareName("python3"));
  for (const path of ["bin/python3", "/python3", "bin\\python3", ".", ".."]) {
    assert.ok(!isBareName(path), path);
  }
});
