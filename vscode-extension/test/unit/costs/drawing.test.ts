import assert from "node:assert/strict";
import { test } from "node:test";
import { differs, drawingOf, NOTHING, sameDrawing } from "../../../src/costs/drawing";

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

const drawing = drawingOf([fresh]);

for (const [what, drawn, wanted, answer] of [
  ["an editor without anything stays as it is", undefined, NOTHING, false],
  ["an editor is drawn when there is something", undefined, drawing, true],
  ["the same is not drawn twice", { drawing, version: 1 }, drawing, false],
  ["after an edit the same is drawn again: its lines may have moved", { drawing, version: 0 }, drawing, true],
  ["after an edit nothing is not drawn again", { drawing: NOTHING, version: 0 }, NOTHING, false],
  ["what is gone is cleared", { drawing, version: 1 }, NOTHING, true],
] as const) {
  test(what, () => {
    assert.equal(differs(drawn, { drawing: wanted, version: 1 }), answer);
  });
}
