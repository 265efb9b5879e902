// Puts the pictures of a README into its text, so that an extension's page shows them without the network.
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const PICTURE = /!\[(?<text>[^\]]*)\]\((?<path>[^):]+\.png)\)/g;

export async function withInlineImages(file) {
  const text = await readFile(file, "utf8");
  const pictures = await Promise.all(
    [...text.matchAll(PICTURE)].map((match) => readFile(join(dirname(file), match.groups.path), "base64")),
  );
  return text.replace(PICTURE, (_, alt) => `![${alt}](data:image/png;base64,${pictures.shift()})`);
}
