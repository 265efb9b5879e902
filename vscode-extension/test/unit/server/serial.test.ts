import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Serial } from "../../../src/server/serial";

/** A task that counts its runs, each going on until it is let go. */
function task() {
  const gates: { open: () => void; fail: (error: Error) => void }[] = [];
  let running = 0;
  const run = async () => {
    running += 1;
    assert.equal(running, 1, "two at a time");
    try {
      await new Promise<void>((open, fail) => gates.push({ open, fail }));
    } finally {
      running -= 1;
    }
  };
  return { gates, run };
}

test("one at a time, and one more for all that was asked meanwhile", async () => {
  const { gates, run } = task();
  const serial = new Serial(run);
  const first = serial.request();
  await turn();
  const later = [serial.request(), serial.request(), serial.request()];
  await turn();
  assert.equal(gates.length, 1);
  gates[0]?.open();
  await first;
  await turn();
  assert.equal(gates.length, 2);
  gates[1]?.open();
  await Promise.all(later);
  await turn();
  assert.equal(gates.length, 2);
});

test("a request as a run ends does not run beside the queued one", async () => {
  const { gates, run } = task();
  const serial = new Serial(run);
  const first = serial.request();
  await turn();
  const second = serial.request();
  gates[0]?.open();
  const third = first.then(() => serial.request());
  await turn();
  gates[1]?.open();
  await second;
  await turn();
  gates[2]?.open();
  await third;
});

test("a failure is told to who asked, and does not stop the next", async () => {
  const { gates, run } = task();
  const serial = new Serial(run);
  const first = serial.request();
  await turn();
  const second = serial.request();
  gates[0]?.fail(new Error("first"));
  await assert.rejects(first, /first/);
  await turn();
  gates[1]?.open();
  await second;
});

test("settled is when all has run that was asked for", async () => {
  const { gates, run } = task();
  const serial = new Serial(run);
  await serial.settled();
  const first = serial.request();
  await turn();
  const second = serial.request();
  let settled = false;
  const waiting = serial.settled().then(() => {
    settled = true;
  });
  gates[0]?.open();
  await first;
  await turn();
  assert.ok(!settled);
  gates[1]?.fail(new Error("second"));
  await assert.rejects(second, /second/);
  await waiting;
});
