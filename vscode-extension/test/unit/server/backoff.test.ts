import assert from "node:assert/strict";
import { test } from "node:test";
import { Backoff } from "../../../src/server/backoff";

const s = (seconds: number) => seconds * 1000;

test("pauses double up to a minute", () => {
  const backoff = new Backoff();
  const pauses = Array.from({ length: 9 }, () => backoff.delayAfterMs(s(0.5)));
  assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60].map(s));
});

test("a minute of health begins anew", () => {
  const backoff = new Backoff();
  backoff.delayAfterMs(0);
  backoff.delayAfterMs(0);
  assert.equal(backoff.delayAfterMs(s(59.9)), s(4));
  assert.equal(backoff.delayAfterMs(s(60)), s(1));
  assert.equal(backoff.delayAfterMs(0), s(2));
});

test("a restart that the user asked for begins anew", () => {
  const backoff = new Backoff();
  backoff.delayAfterMs(0);
  backoff.reset();
  assert.equal(backoff.delayAfterMs(0), s(1));
});
