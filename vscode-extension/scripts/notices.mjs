// The licences of everything that others wrote and an extension file carries.
import { readdir, readFile } from "node:fs/promises";
import { join, sep } from "node:path";

const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;
const NODE_PACKAGE = /node_modules\/((?:@[^/]+\/)?[^/]+)\//g;

const HEADING = `Third-party notices

The Warplint extension carries the following components, under their own licences.
`;

/** One text for the npm packages in a bundle (told by its source map) and the Python projects in a folder. */
export async function notices({ sourceMap, nodeModules, pythonFolders }) {
  const components = [
    ...(await Promise.all((await nodePackages(sourceMap)).map((name) => nodeComponent(nodeModules, name)))),
    ...(await Promise.all(pythonFolders.map(pythonComponents))).flat(),
  ];
  return [HEADING, ...components.map(section)].join("\n");
}

function section({ name, version, licence }) {
  return `${"-".repeat(80)}\n${name} ${version}\n\n${licence.trim()}\n`;
}

async function nodePackages(sourceMap) {
  const { sources } = JSON.parse(await readFile(sourceMap, "utf8"));
  const names = sources.flatMap((source) => [...source.matchAll(NODE_PACKAGE)].at(-1)?.[1] ?? []);
  return [...new Set(names)].sort();
}

async function nodeComponent(nodeModules, name) {
  const folder = join(nodeModules, name);
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  return { name, version, licence: await licenceIn(folder) };
}

async function pythonComponents(folder) {
  const entries = (await readdir(folder)).filter((entry) => entry.endsWith(".dist-info")).sort();
  return Promise.all(
    entries.map(async (entry) => {
      const [name, version] = entry.slice(0, -".dist-info".length).split("-");
      return { name, version, licence: await licenceIn(join(folder, entry)) };
    }),
  );
}

async function licenceIn(folder) {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const licences = files
    .filter((file) => file.isFile() && LICENCE_FILE.test(file.name) && !nested(folder, file.parentPath))
    .map((file) => join(file.parentPath, file.name))
    .sort();
  if (licences.length === 0) {
    throw new Error(`${folder} has no licence to pass on`);
  }
  return (await Promise.all(licences.map((file) => readFile(file, "utf8")))).join("\n");
}

function nested(folder, path) {
  return path.slice(folder.length).split(sep).includes("node_modules");
}
