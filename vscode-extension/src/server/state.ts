import type { Resolution } from "./resolution";

/** What there is to say about the server, at any time. */
export type ServerState =
  | { readonly kind: "starting" }
  | {
      readonly kind: "running";
      readonly resolution: Resolution;
      /** Why it does not run on what the user has chosen, with the remedy. */
      readonly fallback: string | undefined;
    }
  | { readonly kind: "died"; readonly how: string; readonly retryInS: number }
  | { readonly kind: "noInterpreter"; readonly problem: string }
  | { readonly kind: "failed"; readonly problem: string };
