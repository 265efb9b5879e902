import type { LineCost } from "../protocol";

/** One text at the end of a line. Lines count from 0. */
export interface DrawnCost {
  readonly line: number;
  readonly text: string;
}

/** What stands at the ends of one document's lines. */
export interface Drawing {
  readonly fresh: readonly DrawnCost[];
  readonly stale: readonly DrawnCost[];
}

export const NOTHING: Drawing = { fresh: [], stale: [] };

export function drawingOf(costs: readonly LineCost[]): Drawing {
  const drawn = (wanted: boolean) =>
    costs.filter(({ stale }) => stale === wanted).map(({ line, text }) => ({ line, text }));
  return { fresh: drawn(false), stale: drawn(true) };
}

/** A drawing, and the version of the text that its lines count in. */
export interface Drawn {
  readonly drawing: Drawing;
  readonly version: number;
}

/** Whether an editor has to be drawn anew. Edits move what is drawn, and may have moved it elsewhere or lost it. */
export function differs(drawn: Drawn | undefined, wanted: Drawn): boolean {
  const there = drawn?.drawing ?? NOTHING;
  const edited = drawn !== undefined && drawn.version !== wanted.version;
  return !sameDrawing(there, wanted.drawing) || (edited && !sameDrawing(there, NOTHING));
}

export function sameDrawing(one: Drawing, other: Drawing): boolean {
  return sameCosts(one.fresh, other.fresh) && sameCosts(one.stale, other.stale);
}

function sameCosts(one: readonly DrawnCost[], other: readonly DrawnCost[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ line, text }, index) => line === other[index]?.line && text === other[index]?.text)
  );
}
