import assert from "node:assert/strict";
import { test } from "node:test";
import type { Score } from "../../../src/protocol";
import { itemLabel, itemText, tooltip } from "../../../src/status/scoreText";

const score: Score = {
  value: 24,
  band: "red",
  summary: "WL101 on line 5 holds it at 30.",
  parts: [
    { label: "`torch.arange` | on the CPU", points: -40, line: 4 },
    { label: "bf16 autocast", points: 10, line: null },
  ],
};
const place = (line: number) => `file:///train.py#L${line + 1}`;

for (const [band, value, text] of [
  ["red", 24, "$(error) GPU 24"],
  ["yellow", 55, "$(warning) GPU 55"],
  ["green", 88, "$(pass) GPU 88"],
] as const) {
  test(`${band} is told by an icon and a number`, () => {
    assert.equal(itemText({ ...score, band, value }), text);
  });
}

test("a screen reader is told number, band and summary", () => {
  assert.equal(
    itemLabel(score),
    "GPU-friendliness of this file: 24 of 100, poor. WL101 on line 5 holds it at 30.",
  );
});

test("the tooltip has a row for each part, with a link to its line", () => {
  const rows = tooltip(score, place, "about:score").split("\n");
  assert.ok(
    rows.includes("| \\`torch\\.arange\\` \\| on the CPU | [line 5](file:///train.py#L5) | −40 |"),
    rows.join("\n"),
  );
  assert.ok(rows.includes("| bf16 autocast |  | +10 |"), rows.join("\n"));
});

test("the tooltip of a score without parts has no empty table", () => {
  assert.ok(!tooltip({ ...score, parts: [] }, place, "about:score").includes("|"));
});

test("the tooltip leads to the documentation", () => {
  assert.match(tooltip(score, place, "about:score"), /\]\(about:score\)$/);
});
