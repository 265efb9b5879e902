// Bundles the extension (default), or its unit tests with `unit`, or rebuilds at every change with `watch`.
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { build, context } from "esbuild";

const common = { bundle: true, platform: "node", target: "node20", format: "cjs", logLevel: "warning" };

const extension = {
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  external: ["vscode"],
  minify: true,
  sourcemap: "linked",
  sourcesContent: false,
};

async function unitTests() {
  const names = await readdir("test/unit", { recursive: true });
  return {
    ...common,
    entryPoints: names.filter((name) => name.endsWith(".test.ts")).map((name) => join("test/unit", name)),
    outdir: "out/unit",
    entryNames: "[name]",
    sourcemap: "inline",
  };
}

const [mode] = process.argv.slice(2);
if (mode === "unit") {
  await rm("out/unit", { recursive: true, force: true });
  await build(await unitTests());
} else if (mode === "watch") {
  await (await context(extension)).watch();
} else {
  await build(extension);
}
