import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Launcher } from "../../../src/interpreter/launcher";
import { launcherArguments } from "../../../src/interpreter/launcher";
import { probe, Unusable } from "../../../src/interpreter/probe";
import { Folder } from "../folder";

const REPORT = {
  python: "3.12.1",
  executable: "/usr/bin/python3",
  warplint: { version: "0.1.0", origin: "bundled", path: "/ext/bundled/warplint", remark: null },
  libcst: null,
  pygls: "2.1.1",
  problem: null,
};

function launcherIn(folder: Folder, change: Partial<Launcher> = {}): Launcher {
  return { script: folder.write("launch.py", ""), strategy: "useBundled", isolated: false, ...change };
}

/** An interpreter that does what the shell script says. */
function interpreter(t: TestContext, script: string): [string, Launcher] {
  const folder = new Folder(t);
  return [folder.program("python", script), launcherIn(folder)];
}

function unusable(...words: string[]) {
  return (error: unknown) => {
    assert.ok(error instanceof Unusable);
    for (const word of words) {
      assert.ok(error.message.includes(word), `${word} in: ${error.message}`);
    }
    return true;
  };
}

test("PYTHON variables are ignored always, and packages where the workspace is not trusted", (t) => {
  const launcher = launcherIn(new Folder(t));
  const server = ["--import-strategy", "useBundled", "server"];
  assert.deepEqual(launcherArguments(launcher, "server"), ["-E", launcher.script, ...server]);
  const isolated = { ...launcher, isolated: true };
  assert.deepEqual(launcherArguments(isolated, "server"), ["-E", "-S", launcher.script, ...server]);
});

test("a Python that works says what it runs", async (t) => {
  const [python, launcher] = interpreter(t, `cat <<'END'\n${JSON.stringify(REPORT)}\nEND`);
  assert.deepEqual(await probe(python, launcher), REPORT);
});

test("a Python is asked from the launcher's folder", async (t) => {
  const report = JSON.stringify({ ...REPORT, executable: "HERE" });
  const [python, launcher] = interpreter(t, `printf '%s\\n' '${report}' | sed "s|HERE|$PWD|"`);
  assert.equal(`${(await probe(python, launcher)).executable}/launch.py`, launcher.script);
});

test("a problem that the launcher found is passed on", async (t) => {
  const report = { ...REPORT, warplint: null, pygls: null, problem: "Warplint needs Python 3.10 or later." };
  const [python, launcher] = interpreter(t, `echo '${JSON.stringify(report)}'`);
  await assert.rejects(probe(python, launcher), unusable("Warplint needs Python 3.10 or later."));
});

test("a Python that fails is quoted", async (t) => {
  const [python, launcher] = interpreter(t, "echo 'Fatal Python error: no encodings' >&2; exit 1");
  await assert.rejects(probe(python, launcher), unusable(python, "Fatal Python error: no encodings"));
});

test("what is no Python at all is refused", async (t) => {
  const [python, launcher] = interpreter(t, "echo hello");
  await assert.rejects(probe(python, launcher), unusable(python, "hello"));
  await assert.rejects(probe(`${python}-gone`, launcher), unusable("ENOENT"));
});

test("a JSON answer of another form is refused", async (t) => {
  for (const answer of ["null", "[]", "3", '{"python": 3}']) {
    const [python, launcher] = interpreter(t, `echo '${answer}'`);
    await assert.rejects(probe(python, launcher), unusable(answer));
  }
});

test("a Python that never answers is given up", async (t) => {
  const [python, launcher] = interpreter(t, "exec sleep 60");
  await assert.rejects(probe(python, launcher, 200), unusable(python, "0.2 s"));
});
