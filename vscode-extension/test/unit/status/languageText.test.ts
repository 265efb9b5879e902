import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resolution } from "../../../src/server/resolution";
import { languageText } from "../../../src/status/languageText";

const RESOLUTION: Resolution = {
  path: "/usr/bin/python3",
  source: "path",
  launcher: { script: "/ext/bundled/launch.py", strategy: "fromEnvironment", isolated: false },
  report: {
    python: "3.12.1",
    executable: "/usr/bin/python3",
    warplint: { version: "0.3.0", origin: "bundled", path: "/ext/bundled/warplint", remark: null },
    libcst: null,
    pygls: "2.1.1",
    problem: null,
  },
};

test("a running server says what it is, and does not warn", () => {
  const { detail, warns, busy, remedy } = languageText({
    kind: "running",
    resolution: RESOLUTION,
    fallback: undefined,
  });
  assert.equal(detail, "Warplint 0.3.0 (bundled) on Python 3.12.1 (PATH)");
  assert.deepEqual({ warns, busy, remedy }, { warns: false, busy: false, remedy: "showVersions" });
});

test("one on another Python than was chosen warns, with the reason and the setting", () => {
  const fallback = "The Python in the setting is gone.";
  const { detail, warns, remedy } = languageText({ kind: "running", resolution: RESOLUTION, fallback });
  assert.deepEqual({ detail, warns, remedy }, { detail: fallback, warns: true, remedy: "openSetting" });
});

test("one that died says how, and when it is tried again", () => {
  const { detail, warns, remedy } = languageText({ kind: "died", how: "exit code 1: no", retryInS: 8 });
  assert.match(detail, /exit code 1: no.*8 s/);
  assert.deepEqual({ warns, remedy }, { warns: true, remedy: "showLogs" });
});

test("where no Python is usable, the problem is said, with the setting", () => {
  const problem = "Install Python 3.10 or newer.";
  const { detail, warns, remedy } = languageText({ kind: "noInterpreter", problem });
  assert.deepEqual({ detail, warns, remedy }, { detail: problem, warns: true, remedy: "openSetting" });
});

test("a server that starts is shown as busy", () => {
  assert.ok(languageText({ kind: "starting" }).busy);
});
