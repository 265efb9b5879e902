import { mkdirSync } from "node:fs";
import path from "node:path";

export const E2E = path.resolve(import.meta.dirname, "..");
export const EXTENSION = path.dirname(E2E);
export const CHECKOUT = path.dirname(EXTENSION);

/** Where screenshots and logs of the run are kept. */
export const SCREENSHOTS = path.resolve(
  process.env.WARPLINT_SCREENSHOTS ?? path.join(CHECKOUT, "build", "screenshots"),
);
mkdirSync(SCREENSHOTS, { recursive: true });

/** A Python with PyTorch, for the programs that are profiled. */
export const PROGRAM_PYTHON =
  process.env.WARPLINT_PROGRAM_PYTHON ?? path.join(CHECKOUT, ".venv-3.12", "bin", "python");
