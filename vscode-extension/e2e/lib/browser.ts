import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type BrowserContext, chromium } from "playwright-core";

export const SIZE = { width: 1360, height: 820 };

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** What VS Code's own interface is drawn in: it asks for the system's sans serif. */
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include>/etc/fonts/fonts.conf</include>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
  <alias binding="strong"><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
</fontconfig>
`;

/** Chromium with a profile of its own, which is removed when it is closed. */
export async function launch(): Promise<BrowserContext> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "warplint-browser-"));
  const fonts = path.join(folder, "fonts.conf");
  mkdirSync(path.join(folder, "profile"));
  writeFileSync(fonts, FONTS);
  const context = await chromium.launchPersistentContext(path.join(folder, "profile"), {
    executablePath: process.env.WARPLINT_CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    viewport: SIZE,
    args: FLAGS,
    env: { ...process.env, FONTCONFIG_FILE: fonts } as Record<string, string>,
  });
  context.on("close", () => rmSync(folder, { recursive: true, force: true }));
  return context;
}
