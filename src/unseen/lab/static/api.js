// Asking the server, and listening to it. Whatever it refuses, it says in words.

import { foldPath, openStream } from "./stream.js";

export { foldPath };

/**
 * @typedef {{preset: string, settings: Record<string, any>, fold: number, guess: number | null}} Choice
 * @typedef {{epochs: number, seconds: number | null, seen: Record<string, number | null>,
 *   unseen: Record<string, number | null>, share: (number | null)[],
 *   shown: (number | null)[]}} Snapshot
 * @typedef {{combination: (number | string)[], answer: number, picture: string}} Shown
 * @typedef {{preset: string, settings: Record<string, any>, fold: number, folds: number,
 *   places: (number | string)[][], place_names: string[], symbol_names: string[], answers: number[],
 *   unseen: number[], undetermined: number[], leakage: string[], things: string, symbol: string,
 *   answers_word: string, picture: number[], epochs: number, command: string | null,
 *   last_seconds: Record<string, number>, run: string | null, label?: string, guess: number | null,
 *   shown?: Shown[]}} Setup
 * @typedef {{status: string, fault: string, notes: {kind: string}[],
 *   progress: {epochs: number, start: number} | null,
 *   outcome: {measures: Record<string, number | null>, quadrants: Record<string, number | null>} | null}} State
 */

export class LabError extends Error {
  /** @param {string} message @param {number} status @param {string | null} setting */
  constructor(message, status, setting = null) {
    super(message);
    this.status = status;
    this.setting = setting;
  }
}

/** @param {string} path @param {RequestInit} [options] @returns {Promise<any>} */
async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new LabError("The lab does not answer. Does unseen lab still run in its terminal?", 0);
  }
  const said = await response.json().catch(() => ({ error: "The lab's answer cannot be read." }));
  if (!response.ok) throw new LabError(said.error, response.status, said.setting);
  return said;
}

/** @param {string} path */
export const get = (path) => ask(path);

/** @param {string} path @param {object} document */
export const post = (path, document) =>
  ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(document),
  });

/**
 * Listen to a fold as it learns: through the worker that all tabs share or, where a browser has no
 * such worker, by oneself.
 * @param {string} run @param {number} fold
 * @param {{snapshots: (snapshots: Snapshot[]) => void, restart: () => void, state: (state: State) => void,
 *   end?: () => void, lost?: () => void}} listeners
 * @returns {() => void} call it to stop listening
 */
export function listen(run, fold, listeners) {
  const path = foldPath(run, fold);
  const receive = (/** @type {import("./stream.js").News} */ { kind, data }) => listeners[kind]?.(data);
  if (typeof SharedWorker === "undefined") return openStream(path, receive);
  const { port } = new SharedWorker("/static/hub.js", { type: "module", name: "unseen lab" });
  port.onmessage = (event) => receive(event.data);
  port.postMessage(path);
  const leave = () => port.postMessage("leave");
  addEventListener("pagehide", leave, { once: true });
  return () => {
    removeEventListener("pagehide", leave);
    leave();
    port.close();
  };
}
