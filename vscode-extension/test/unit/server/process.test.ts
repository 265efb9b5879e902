import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { ServerProcess } from "../../../src/server/process";
import { Folder } from "../folder";

function start(path: string, script: string, hear: (line: string) => void = () => undefined): ServerProcess {
  const warplint = { version: "0.1.0", origin: "bundled", path: "/ext", remark: null } as const;
  const report = {
    python: "3.12.1",
    executable: path,
    warplint,
    libcst: null,
    pygls: "2.1.1",
    problem: null,
  };
  const launcher = { script, strategy: "useBundled", isolated: false } as const;
  return new ServerProcess({ path, source: "path", launcher, report }, hear);
}

/** A server that does what the shell script says, and what is heard of it. */
function server(t: TestContext, script: string) {
  const folder = new Folder(t);
  const heard: string[] = [];
  const launcher = folder.write("bundled/launch.py", "");
  const process = start(folder.program("python", script), launcher, (line) => heard.push(line));
  t.after(() => process.kill());
  return { folder, heard, process };
}

test("how a server ended is its exit code and what it said last", async (t) => {
  const { heard, process } = server(t, "echo one >&2; echo 'ImportError: pygls' >&2; exit 3");
  assert.equal(await process.ended, "exit code 3: ImportError: pygls");
  assert.deepEqual(heard, ["one", "ImportError: pygls"]);
});

test("a killed server is said to be", async (t) => {
  const { process } = server(t, "exec sleep 60");
  process.kill();
  assert.equal(await process.ended, "signal SIGKILL");
});

test("a server that cannot be started has ended", async () => {
  assert.match(await start("/gone/python", process.execPath).ended, /ENOENT/);
});

test("the server runs in the launcher's folder, with the launcher", async (t) => {
  const { folder, heard, process } = server(t, "pwd >&2; echo $* >&2");
  await process.ended;
  const launcher = folder.at("bundled", "launch.py");
  assert.deepEqual(heard, [folder.at("bundled"), `-E ${launcher} --import-strategy useBundled server`]);
});

test("one that leaves when it is told to is not killed", async (t) => {
  const { process } = server(t, "read line; exit 0");
  process.child.stdin?.end("leave\n");
  await process.leave();
  assert.equal(await process.ended, "exit code 0");
});

test("one that does not leave is killed", async (t) => {
  const { folder, process } = server(
    t,
    'trap \'\' TERM; echo up > "$(dirname "$0")/up"; while :; do sleep 1; done',
  );
  await once(process.child, "spawn");
  await process.leave();
  assert.equal(await process.ended, "signal SIGKILL");
  assert.equal(readFileSync(folder.at("up"), "utf8"), "up\n");
});

test("a child of the server that outlives it does not keep its end from being seen", async (t) => {
  const { process } = server(t, "sleep 5 & echo 'out of memory' >&2; exit 1");
  const begun = Date.now();
  assert.equal(await process.ended, "exit code 1: out of memory");
  assert.ok(Date.now() - begun < 4000);
});
