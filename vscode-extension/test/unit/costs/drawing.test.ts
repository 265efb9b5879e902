import assert from "node:assert/strict";
import { test } from "node:test";
import { drawingOf, NOTHING, sameDrawing } from "../../../src/costs/drawing";

const fresh = { line: 3, text: "2.1 ms · 12%", stale: false, share: 0.12 };
const stale = { line: 7, text: "8 waits", stale: true, share: 0.02 };

test("costs are drawn on their lines, stale ones apart", () => {
  assert.deepEqual(drawingOf([fresh, stale]), {
    fresh: [{ line: 3, text: "2.1 ms · 12%" }],
    stale: [{ line: 7, text: "8 waits" }],
  });
});

test("a file without costs is drawn like one that was never drawn", () => {
  assert.ok(sameDrawing(drawingOf([]), NOTHING));
});

test("what the user cannot see makes no other drawing", () => {
  assert.ok(sameDrawing(drawingOf([fresh]), drawingOf([{ ...fresh, share: 0.13 }])));
});

for (const [difference, costs] of Object.entries({
  "another line": [{ ...fresh, line: 4 }, stale],
  "another text": [{ ...fresh, text: "2.2 ms · 12%" }, stale],
  "a line that was edited": [{ ...fresh, stale: true }, stale],
  "a line that was edited back": [fresh, { ...stale, stale: false }],
  "one line less": [fresh],
  "one line more": [fresh, stale, { ...stale, line: 8 }],
})) {
  test(`${difference} makes another drawing`, () => {
    assert.ok(!sameDrawing(drawingOf([fresh, stale]), drawingOf(costs)));
    assert.ok(!sameDrawing(drawingOf(costs), drawingOf([fresh, stale])));
  });
}
