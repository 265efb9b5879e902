import { type Failure, SOURCE_NAMES, type Source } from "./candidate";

const OTHER_ENVIRONMENT = "Select another environment, or name a Python in the setting";

const WHOSE: Readonly<Record<Source, (setting: string) => string>> = {
  setting: (setting) => `The Python in the setting "${setting}"`,
  environments: () => `The environment selected in the ${SOURCE_NAMES.environments}`,
  python: () => `The environment selected in the ${SOURCE_NAMES.python}`,
  path: () => "A Python on the PATH",
};

const REMEDY: Readonly<Record<Source, (setting: string) => string>> = {
  setting: () => "Correct the setting, or clear it.",
  environments: (setting) => `${OTHER_ENVIRONMENT} "${setting}".`,
  python: (setting) => `${OTHER_ENVIRONMENT} "${setting}".`,
  path: (setting) => `Name another in the setting "${setting}".`,
};

/** Why an interpreter is not used, and what to do about it; `setting` is the one that may name another. */
export function failureInWords({ source, reason }: Failure, setting: string): string {
  return `${WHOSE[source](setting)} cannot be used: ${reason} ${REMEDY[source](setting)}`;
}
