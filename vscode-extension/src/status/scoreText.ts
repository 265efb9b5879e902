import type { Band, Score, ScorePart } from "../protocol";

interface Look {
  readonly icon: string;
  readonly word: string;
}

/** How each band looks and is called: never told by colour alone. */
const LOOKS: Readonly<Record<Band, Look>> = {
  red: { icon: "error", word: "poor" },
  yellow: { icon: "warning", word: "fair" },
  green: { icon: "pass", word: "good" },
};

/** For example "$(warning) GPU 55". */
export function itemText({ band, value }: Score): string {
  return `$(${LOOKS[band].icon}) GPU ${value}`;
}

/** What a screen reader says instead of the text. */
export function itemLabel({ band, value, summary }: Score): string {
  return `GPU-friendliness of this file: ${value} of 100, ${LOOKS[band].word}. ${summary}`;
}

/** The tooltip. `place` makes a link to a line, which counts from 0. */
export function tooltip(score: Score, place: (line: number) => string, documentation: string): string {
  const { icon, word } = LOOKS[score.band];
  return [
    `**GPU-friendliness: ${score.value} of 100** $(${icon}) ${word}`,
    escapeMarkdown(score.summary),
    ...(score.parts.length === 0 ? [] : [table(score.parts, place)]),
    `[How the score is made](${documentation})`,
  ].join("\n\n");
}

/** With its sign, and a real minus: "+10", "−25". */
export function signed(points: number): string {
  return points < 0 ? `−${-points}` : `+${points}`;
}

function table(parts: readonly ScorePart[], place: (line: number) => string): string {
  const rows = parts.map(({ label, points, line }) => {
    const where = line === null ? "" : `[line ${line + 1}](${place(line)})`;
    return `| ${escapeMarkdown(label)} | ${where} | ${signed(points)} |`;
  });
  return ["| | | points |", "|:--|:--|--:|", ...rows].join("\n");
}

/** Text as it is, also in a table's cell. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>$~]/g, "\\$&");
}
