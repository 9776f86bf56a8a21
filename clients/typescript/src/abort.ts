// Listening to an abort that may never come, on a signal that many calls share.

import { setMaxListeners } from "node:events";

/** Runs `action` when the signal aborts, at once if it has; the function that is given back stops listening. */
export function onAbort(signal: AbortSignal | undefined, action: () => void): () => void {
  if (signal === undefined) {
    return () => {};
  }
  if (signal.aborted) {
    action();
    return () => {};
  }
  // Node takes more than ten listeners for a leak; an agent may well have more calls than that under one signal.
  setMaxListeners(0, signal);
  signal.addEventListener("abort", action, { once: true });
  return () => signal.removeEventListener("abort", action);
}
