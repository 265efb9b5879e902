/** How far a run is: what `warplint run --progress` tells, as `docs/running.md` describes it. */
export type Stage =
  | { readonly state: "started"; readonly folder: string | null }
  | { readonly state: "waiting"; readonly steps: number }
  | { readonly state: "capturing"; readonly steps: number }
  | { readonly state: "captured" }
  | Finished;

export interface Finished {
  readonly state: "finished";
  readonly exit: number | null;
  readonly signal: number | null;
  readonly captured: boolean;
  readonly said: readonly string[];
}

/** Makes stages of the lines of a file that is still being written. */
export class StageReader {
  #rest = "";

  /** The stages whose lines `text`, the next of the file, makes whole. */
  read(text: string): Stage[] {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    return lines.map(parseStage).filter((stage) => stage !== undefined);
  }
}

/** Undefined for a line that a newer Warplint may mean something by. */
function parseStage(line: string): Stage | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isStage(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}

type Check = (value: unknown) => boolean;

const isNumber: Check = (value) => typeof value === "number";
const isNumberOrNull: Check = (value) => value === null || typeof value === "number";
const isBoolean: Check = (value) => typeof value === "boolean";

const FIELDS: Readonly<Record<Stage["state"], Readonly<Record<string, Check>>>> = {
  started: { folder: (value) => value === null || typeof value === "string" },
  waiting: { steps: isNumber },
  capturing: { steps: isNumber },
  captured: {},
  finished: {
    exit: isNumberOrNull,
    signal: isNumberOrNull,
    captured: isBoolean,
    said: (value) => Array.isArray(value) && value.every((sentence) => typeof sentence === "string"),
  },
};

function isStage(value: unknown): value is Stage {
  if (typeof value !== "object" || value === null || !("state" in value)) {
    return false;
  }
  const entries = new Map(Object.entries(value));
  const fields = Object.entries(FIELDS).find(([state]) => state === value.state)?.[1];
  return fields !== undefined && Object.entries(fields).every(([name, check]) => check(entries.get(name)));
}

/** Before anything was told. */
export const STARTING = "starting";

/** What the progress notification says. */
export function inWords(stage: Stage): string {
  switch (stage.state) {
    case "started":
      return "running; waiting for its first step";
    case "waiting":
      return `waiting for step times to settle (${counted(stage.steps)})`;
    case "capturing":
      return `capturing ${counted(stage.steps)}`;
    case "captured":
      return "captured; the program goes on";
    case "finished":
      return "done";
  }
}

function counted(steps: number): string {
  return steps === 1 ? "1 step" : `${steps} steps`;
}
