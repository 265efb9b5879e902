import assert from "node:assert/strict";
import { test } from "node:test";
import { type Resolution, sameServer } from "../../../src/server/resolution";

function resolution(): Resolution {
  return {
    path: "/venv/bin/python",
    source: "python",
    launcher: { script: "/ext/bundled/launch.py", strategy: "fromEnvironment", isolated: false },
    report: {
      python: "3.12.1",
      executable: "/venv/bin/python",
      warplint: { version: "0.1.0", origin: "environment", path: "/venv/lib/warplint", remark: null },
      libcst: "1.9.0",
      pygls: "2.1.1",
      problem: null,
    },
  };
}

test("what would run the same is the same server, whoever proposed it", () => {
  assert.ok(sameServer(resolution(), resolution()));
  assert.ok(sameServer(resolution(), { ...resolution(), source: "path" }));
});

test("another Python, Warplint, library or isolation is another server", () => {
  const { launcher, report } = resolution();
  const changes: Partial<Resolution>[] = [
    { path: "/other/bin/python" },
    { launcher: { ...launcher, strategy: "useBundled" } },
    { launcher: { ...launcher, isolated: true } },
    { report: { ...report, python: "3.12.2" } },
    { report: { ...report, libcst: null } },
    { report: { ...report, warplint: { ...report.warplint, version: "0.2.0" } } },
  ];
  for (const change of changes) {
    assert.ok(!sameServer(resolution(), { ...resolution(), ...change }), JSON.stringify(change));
  }
});

test("none is not the same as one", () => {
  assert.ok(!sameServer(undefined, resolution()));
  assert.ok(sameServer(undefined, undefined));
});
