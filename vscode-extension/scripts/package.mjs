// Makes the extension files: package.mjs [--target TARGET]... [--into FOLDER]
//
// Without a target, all of them: one for each platform that libcst has wheels for, with it, and `universal` without.
// PYTHON names the Python with pip that collects the Python half; python3 otherwise.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { createVSIX } from "@vscode/vsce";
import { notices } from "./notices.mjs";

const EXTENSION = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const REPOSITORY = dirname(EXTENSION);
const UNIVERSAL = "universal";
const AS_IT_IS = ["README.md", "CHANGELOG.md", "LICENSE", "images/icon.png"];
/** Pages that the extension shows. */
const DOCS = ["docs/score.md"];
const NOT_SHIPPED_FIELDS = ["scripts", "devDependencies"];
// The universal file is scanned for secrets, which takes half a minute. The others add nothing but hashed wheels.
const WITHOUT_SCAN = { allowPackageAllSecrets: true, allowPackageEnvFile: true };
const LINK_TO_SOURCE_MAP = /\n\/\/# sourceMappingURL=.*\s*$/;

const KILOBYTES = 1000;
const MEGABYTES = 1_000_000;
const MOST_BYTES = {
  bundle: 600 * KILOBYTES,
  universal: 3 * MEGABYTES,
  platform: 15 * MEGABYTES,
};

// Same input, same file: a zip keeps the time of every entry.
process.env.SOURCE_DATE_EPOCH ??= String(Date.UTC(2020, 0, 1) / 1000);

const run = promisify(execFile);

async function main() {
  const { targets: platforms } = JSON.parse(await readFile(join(EXTENSION, "scripts/targets.json"), "utf8"));
  const known = [UNIVERSAL, ...Object.keys(platforms)];
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true, default: known },
      into: { type: "string", default: join(REPOSITORY, "build", "vsix") },
    },
  });
  const unknown = values.target.filter((target) => !known.includes(target));
  if (unknown.length > 0) {
    throw new Error(`no target ${unknown.join(", ")}; there are ${known.join(", ")}`);
  }
  const manifest = JSON.parse(await readFile(join(EXTENSION, "package.json"), "utf8"));
  await sameVersion(manifest.version);
  await atMost(join(EXTENSION, "dist/extension.js"), MOST_BYTES.bundle);
  for (const target of values.target) {
    await makeFile(target, manifest, resolve(values.into));
  }
}

async function makeFile(target, manifest, folder) {
  const staged = join(folder, "staged", target);
  const file = join(folder, `warplint-${manifest.version}-${target}.vsix`);
  await stage(target, manifest, staged);
  await createVSIX({
    cwd: staged,
    packagePath: file,
    dependencies: false,
    allowMissingRepository: true,
    ...(target === UNIVERSAL ? {} : { target, ...WITHOUT_SCAN }),
  });
  // Unpacked, all of them would be more than a quarter of a GB.
  await rm(staged, { recursive: true });
  await atMost(file, target === UNIVERSAL ? MOST_BYTES.universal : MOST_BYTES.platform);
}

/** Put together what the file will hold, and nothing else. */
async function stage(target, manifest, staged) {
  await rm(staged, { recursive: true, force: true });
  await mkdir(join(staged, "dist"), { recursive: true });
  await bundlePython(target, join(staged, "bundled"));
  for (const name of AS_IT_IS) {
    await cp(join(EXTENSION, name), join(staged, name));
  }
  for (const page of DOCS) {
    await cp(join(REPOSITORY, page), join(staged, page));
  }
  await writeFile(join(staged, "package.json"), `${JSON.stringify(shipped(manifest), null, 2)}\n`);
  const code = await readFile(join(EXTENSION, "dist/extension.js"), "utf8");
  await writeFile(join(staged, "dist/extension.js"), code.replace(LINK_TO_SOURCE_MAP, "\n"));
  const projects = target === UNIVERSAL ? ["libs"] : ["libs", "libcst"];
  const text = await notices({
    sourceMap: join(EXTENSION, "dist/extension.js.map"),
    nodeModules: join(REPOSITORY, "node_modules"),
    pythonFolders: projects.map((name) => join(staged, "bundled", name)),
  });
  await writeFile(join(staged, "ThirdPartyNotices.txt"), text);
}

async function bundlePython(target, into) {
  const platform = target === UNIVERSAL ? [] : ["--target", target];
  const wheels = ["--wheels", join(REPOSITORY, "build", "wheels")];
  const { stderr } = await run(process.env.PYTHON ?? "python3", [
    join(EXTENSION, "scripts/bundle.py"),
    into,
    ...wheels,
    ...platform,
  ]);
  process.stderr.write(stderr);
}

function shipped(manifest) {
  const kept = Object.entries(manifest).filter(([field]) => !NOT_SHIPPED_FIELDS.includes(field));
  return { ...Object.fromEntries(kept), files: ["**"] };
}

async function sameVersion(version) {
  const source = await readFile(join(REPOSITORY, "analyzers/warplint/__init__.py"), "utf8");
  const own = /^__version__ = "(.*)"$/m.exec(source)?.[1];
  if (own !== version) {
    throw new Error(`the extension is ${version} and the Warplint in it would be ${own}`);
  }
}

async function atMost(file, bytes) {
  const { size } = await stat(file);
  if (size >= bytes) {
    throw new Error(`${file} has ${size} bytes, and must stay below ${bytes}`);
  }
  process.stdout.write(`${file}: ${size} bytes\n`);
}

await main();
