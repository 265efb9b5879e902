import assert from "node:assert/strict";
import { test } from "node:test";
import type { Source } from "../../../src/interpreter/candidate";
import { failureInWords } from "../../../src/interpreter/failure";

const SETTING = "warplint.server.interpreter";
const SOURCES: readonly Source[] = ["setting", "environments", "python", "path"];

for (const source of SOURCES) {
  test(`a failure of the source ${source} gives its reason and the setting that is its remedy`, () => {
    const words = failureInWords({ source, reason: "/gone is not there." }, SETTING);
    assert.match(words, /cannot be used: \/gone is not there\. /);
    assert.ok(words.includes(`"${SETTING}"`));
    assert.ok(words.endsWith("."));
  });
}
