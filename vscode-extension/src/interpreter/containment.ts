import { lstatSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, parse, relative, resolve, sep } from "node:path";

/** As many links as Linux follows before it calls them a loop. */
const MOST_LINKS = 40;

const BASE_OF_ENVIRONMENT = /^\s*home\s*=\s*(.+?)\s*$/m;

/**
 * Whether running an interpreter would use anything in these folders: it lies in one, is reached through a
 * link that does, or is a virtual environment whose base interpreter does.
 */
export function reachesInto(path: string, folders: readonly string[]): boolean {
  const forbidden = folders.flatMap((folder) => [resolve(folder), realPath(folder)]);
  return passesThrough(path, forbidden) || basesOf(path).some((base) => passesThrough(base, forbidden));
}

/** Whether a path is a folder or lies in it, as written. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(comparable(folder), comparable(path));
  return way === "" || !(way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way));
}

/** macOS takes names for the same that differ in case or in how accents are encoded; Windows' `relative` does. */
function comparable(path: string): string {
  return process.platform === "darwin" ? path.normalize("NFC").toLowerCase() : path;
}

function passesThrough(path: string, folders: readonly string[]): boolean {
  return placesOnTheWay(path).some((place) => folders.some((folder) => isInside(place, folder)));
}

/** The path as written, and every place that the system visits on its way to the file, link by link. */
function placesOnTheWay(path: string): string[] {
  const written = resolve(path);
  const places = [written, realPath(written)];
  let here = parse(written).root;
  let ahead = namesIn(written);
  let links = 0;
  for (let name = ahead.shift(); name !== undefined; name = ahead.shift()) {
    const next = normalize(join(here, name));
    places.push(next);
    const target = linkTarget(next);
    if (target === undefined) {
      here = next;
      continue;
    }
    links += 1;
    if (links > MOST_LINKS) {
      return places;
    }
    here = isAbsolute(target) ? parse(target).root : here;
    ahead = [...namesIn(target), ...ahead];
  }
  return places;
}

function namesIn(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split(/[\\/]/)
    .filter((name) => name !== "");
}

function linkTarget(path: string): string | undefined {
  return ifReadable(() => (lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined));
}

function realPath(path: string): string {
  return ifReadable(() => realpathSync.native(path)) ?? resolve(path);
}

function basesOf(interpreter: string): string[] {
  const folders = new Set([interpreter, realPath(interpreter)].map((path) => dirname(resolve(path))));
  return [...folders]
    .flatMap((folder) => [join(folder, "pyvenv.cfg"), join(dirname(folder), "pyvenv.cfg")])
    .flatMap((file) => {
      const base = BASE_OF_ENVIRONMENT.exec(ifReadable(() => readFileSync(file, "utf8")) ?? "")?.[1];
      return base === undefined ? [] : [base];
    });
}

/** What cannot be read here cannot be read by an interpreter either, which is run by the same user. */
function ifReadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
