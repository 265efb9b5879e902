/** Who proposes an interpreter, in the order in which they are asked. */
export type Source = "setting" | "environments" | "python" | "path";

export const SOURCE_NAMES: Readonly<Record<Source, string>> = {
  setting: "setting",
  environments: "Python Environments extension",
  python: "Python extension",
  path: "PATH",
};

/** An interpreter that may be run, not yet known to work. */
export interface Candidate {
  readonly path: string;
  readonly source: Source;
}

/** Why nothing came of what a source named: a sentence. */
export interface Failure {
  readonly source: Source;
  readonly reason: string;
}

export type Proposal = Candidate | Failure;
