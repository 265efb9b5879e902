import path from "node:path";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { SIZE } from "./browser.ts";
import type { Host } from "./host.ts";
import { SCREENSHOTS } from "./places.ts";
import { until } from "./wait.ts";

const TITLE_HEIGHT = 31;
const START_MS = 90_000;
const SCORE = "warplint.warplint.warplint.score";

/** What is drawn after a line of code, and how. */
export interface LineEnd {
  readonly line: number;
  readonly text: string;
  readonly color: string;
  readonly style: string;
}

/** One window of VS Code, used as a user would: keys, clicks, and what is to be seen. Lines count from 1. */
export class Workbench {
  readonly page: Page;
  readonly #scenario: string;
  #shots = 0;

  private constructor(page: Page, scenario: string) {
    this.page = page;
    this.#scenario = scenario;
    page.setDefaultTimeout(30_000);
  }

  static async open(
    browser: BrowserContext,
    host: Host,
    place: string,
    scenario: string,
  ): Promise<Workbench> {
    const page = await browser.newPage();
    const kind = place.endsWith(".code-workspace") ? "workspace" : "folder";
    await page.goto(`${host.url}/?${kind}=${place}`);
    await page.locator(".monaco-workbench").waitFor({ timeout: START_MS });
    await page.locator(".statusbar-item").first().waitFor({ timeout: START_MS });
    const window = new Workbench(page, scenario);
    await window.hide("sidebar");
    return window;
  }

  close(): Promise<void> {
    return this.page.close();
  }

  async shot(name: string): Promise<string> {
    this.#shots += 1;
    const number = String(this.#shots).padStart(2, "0");
    const file = path.join(SCREENSHOTS, `${this.#scenario}-${number}-${name}.png`);
    await this.page.screenshot({ path: file });
    return file;
  }

  /** A picture for documents: the window without its title. */
  async picture(name: string): Promise<void> {
    const clip = { x: 0, y: TITLE_HEIGHT, width: SIZE.width, height: SIZE.height - TITLE_HEIGHT };
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `vscode-${name}.png`), clip });
  }

  press(...keys: string[]): Promise<void> {
    return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
  }

  // Commands and files

  /** Run a command by its title in the palette. */
  async command(title: string): Promise<void> {
    await this.#choose("F1", `>${title}`, title);
  }

  async openFile(name: string): Promise<void> {
    await this.#choose("Control+P", name, name);
    await this.tab(name).waitFor();
    await this.page.locator(".editor-instance .view-line").first().waitFor();
  }

  tab(name: string): Locator {
    return this.page.locator(".tab.active", { hasText: name });
  }

  async save(): Promise<void> {
    await this.press("Control+S");
    await this.page.locator(".tab.active:not(.dirty)").waitFor();
  }

  /** Choose the row with this title among those that are found for `words`. */
  async #choose(key: string, words: string, title: string): Promise<void> {
    const box = await this.#quickInput(key);
    await box.fill(words);
    const rows = this.page.locator(".quick-input-list .monaco-list-row");
    // By the keyboard: a row may move while the mouse is on its way.
    await until(`${title} to be found`, async () => {
      const titles = (await rows.locator(".label-name").allInnerTexts()).map(plain);
      if (
        titles.includes(title) &&
        (await reads(rows.and(this.page.locator(".focused")).locator(".label-name"))) === title
      ) {
        return true;
      }
      if (titles.includes(title)) {
        await this.press("ArrowDown");
      }
      return false;
    });
    await this.press("Enter");
    // A command may ask for something in the same box.
    await until(
      `${title} to be chosen`,
      async () => !(await box.isVisible()) || (await box.inputValue()) !== words,
    );
  }

  async #quickInput(key: string): Promise<Locator> {
    const box = this.page.locator(".quick-input-widget input.input");
    await this.press(key);
    await box.waitFor();
    return box;
  }

  // The editor

  async goTo(line: number, column = 1): Promise<void> {
    const box = await this.#quickInput("Control+G");
    await box.fill(`:${line}:${column}`);
    await this.press("Enter");
    await box.waitFor({ state: "hidden" });
    await until(`the cursor at ${line}:${column}`, async () =>
      (await this.statusText("status.editor.selection")).startsWith(`Ln ${line}, Col ${column}`),
    );
  }

  /** The visible text, line by line from the number that the first one has. */
  async visibleLines(): Promise<Map<number, string>> {
    return new Map((await this.#lines()).map(({ line, text }) => [line, text]));
  }

  async lineText(line: number): Promise<string> {
    return (await this.visibleLines()).get(line) ?? "";
  }

  /** What is drawn after the visible lines that have something after them. */
  async lineEnds(): Promise<LineEnd[]> {
    return (await this.#lines()).flatMap(({ line, end }) => (end === null ? [] : [{ line, ...end }]));
  }

  async lineEnd(line: number): Promise<LineEnd | undefined> {
    return (await this.lineEnds()).find((end) => end.line === line);
  }

  squiggles(kind: "error" | "warning" | "info" | "hint" = "warning"): Locator {
    return this.page.locator(`.editor-instance .squiggly-${kind}`);
  }

  async lenses(): Promise<string[]> {
    return (await this.page.locator(".codelens-decoration").allInnerTexts()).map(plain).filter(Boolean);
  }

  /** The hover at a place, once it says `words`. */
  async hover(line: number, column: number, words: string | RegExp): Promise<Locator> {
    await this.goTo(line, column);
    await this.press("Control+K", "Control+I");
    const hover = this.page.locator(".monaco-hover:not(.hidden)", { hasText: words }).first();
    await hover.waitFor();
    return hover;
  }

  // Quick fixes

  /** The menu of code actions at a place; its rows, and disabled ones with `.option-disabled`. */
  async codeActions(line: number, column: number): Promise<Locator> {
    await this.goTo(line, column);
    await this.press("Control+.");
    const rows = this.page.locator(".action-widget .monaco-list-row");
    await rows.first().waitFor();
    return rows;
  }

  // The rest of the window

  async hide(part: "panel" | "sidebar"): Promise<void> {
    const shown = this.page.locator(`.part.${part}`);
    if (await shown.isVisible()) {
      await this.press(part === "panel" ? "Control+J" : "Control+B");
      await shown.waitFor({ state: "hidden" });
    }
  }

  /** The rows of the problems view, from the top. */
  async problems(): Promise<string[]> {
    await this.command("Problems: Focus on Problems View");
    const rows = this.page.locator(".markers-panel .monaco-list-row");
    await rows.first().waitFor();
    // A list's rows stand in the page in the order in which they were drawn.
    const seen = await rows.evaluateAll((elements) =>
      elements
        .map((row) => ({
          index: Number(row.getAttribute("data-index")),
          text: row.textContent ?? "",
        }))
        .sort((a, b) => a.index - b.index),
    );
    return seen.map(({ text }) => plain(text));
  }

  status(id: string): Locator {
    return this.page.locator(`.statusbar-item[id="${id}"]`);
  }

  async statusText(id: string): Promise<string> {
    return reads(this.status(id));
  }

  get score(): Locator {
    return this.status(SCORE);
  }

  scoreText(): Promise<string> {
    return this.statusText(SCORE);
  }

  /** What the language status says of Warplint, read from its pop-up. */
  async languageStatus(): Promise<string> {
    await this.page.mouse.move(0, 0);
    await this.status("status.languageStatus").first().hover();
    const popup = this.page.locator(".monaco-hover .hover-language-status", { hasText: "Warplint" });
    await popup.first().waitFor();
    return reads(popup);
  }

  /** The messages of the notifications that pop up. */
  async notifications(): Promise<string[]> {
    return (await this.page.locator(".notification-list-item-message").allInnerTexts()).map(plain);
  }

  /** All messages that have popped up and were not dismissed, which this does. */
  async takeNotifications(): Promise<string[]> {
    await this.command("Notifications: Show Notifications");
    await this.page.locator(".notifications-center .notification-list-item-message").first().waitFor();
    const messages = await this.notifications();
    await this.command("Notifications: Clear All Notifications");
    return messages;
  }

  /** The Markdown preview in the active tab, which is a web page of its own. */
  preview(): Locator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame").locator("body");
  }

  /** The visible rows of the terminal. */
  async terminalText(): Promise<string> {
    return (await this.page.locator(".terminal-wrapper.active .xterm-rows > div").allInnerTexts())
      .map(plain)
      .join("\n");
  }

  #lines(): Promise<{ line: number; text: string; end: Omit<LineEnd, "line"> | null }[]> {
    return this.page.evaluate(() => {
      const editor = document.querySelector(".editor-group-container.active .monaco-editor");
      const tops = (selector: string) =>
        [...(editor?.querySelectorAll<HTMLElement>(selector) ?? [])].map((element) => ({
          top: Math.round(element.getBoundingClientRect().top),
          element,
        }));
      const numbers = new Map(
        tops(".margin .line-numbers").map(({ top, element }) => [top, Number(element.textContent)]),
      );
      const after = (line: HTMLElement) => {
        for (const span of line.querySelectorAll("span")) {
          const style = getComputedStyle(span, "::after");
          if (style.content.startsWith('"') && style.content !== '""') {
            const text = JSON.parse(style.content).replaceAll("\u00a0", " ").trim();
            return { text, color: style.color, style: style.fontStyle };
          }
        }
        return null;
      };
      return tops(".view-lines .view-line")
        .flatMap(({ top, element }) => {
          const line = numbers.get(top);
          const text = (element.textContent ?? "").replaceAll("\u00a0", " ");
          return line === undefined ? [] : [{ line, text, end: after(element) }];
        })
        .sort((a, b) => a.line - b.line);
    });
  }
}

/** What is to be read in elements. */
export async function reads(elements: Locator): Promise<string> {
  return plain((await elements.allInnerTexts()).join(" "));
}

/** Text as it reads: single spaces, no private-use characters, which icons are drawn with. */
export function plain(text: string): string {
  return text
    .replaceAll(/[\u00a0\u200b\s]+/g, " ")
    .replaceAll(/[\ue000-\uf8ff]/g, "")
    .trim();
}
