import assert from "node:assert/strict";
import { test } from "node:test";
import { INITIALIZATION_OPTIONS } from "../../src/protocol";

test("the server is told that the extension draws", () => {
  assert.deepEqual(INITIALIZATION_OPTIONS, { warplint: { draws: true, rulePages: true } });
});
