// Runs inside VS Code's extension host: every case of cases/, one after another, as `lib/api.ts` asked for.
const { appendFileSync, readdirSync } = require("node:fs");
const path = require("node:path");

const CASES = path.join(__dirname, "cases");

/** @returns {Promise<void>} rejects when a case failed, which VS Code turns into its exit code */
exports.run = async () => {
  let failures = 0;
  for (const file of readdirSync(CASES).toSorted()) {
    for (const [name, body] of Object.entries(require(path.join(CASES, file)))) {
      const result = { name, error: null, figures: {} };
      try {
        await body((figure, value) => {
          result.figures[figure] = value;
        });
      } catch (error) {
        failures += 1;
        result.error = error instanceof Error ? error.stack : String(error);
      }
      appendFileSync(process.env.WARPLINT_API_RESULTS, `${JSON.stringify(result)}\n`);
    }
  }
  if (failures > 0) {
    throw new Error(`${failures} cases failed`);
  }
};
