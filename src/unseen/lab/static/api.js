// Asking the server, and listening to it. Whatever it refuses, it says in words.

const PAUSE = 300, LOST_PAUSE = 2000; // milliseconds between two questions what is new

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
 * @typedef {{status: string, under_way: boolean, fault: string, notes: {kind: string}[],
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

/** @param {string} run @param {number} fold */
export const foldPath = (run, fold) => `/api/runs/${encodeURIComponent(run)}/folds/${fold}`;

/**
 * Follow a fold as it learns, by asking what is new until it is over.
 * @param {string} run @param {number} fold
 * @param {{snapshots: (snapshots: Snapshot[]) => void, restart: () => void,
 *   state: (state: State) => void, lost?: () => void}} listeners
 * @returns {() => void} call it to stop
 */
export function follow(run, fold, listeners) {
  let last = "", known = "";
  let stopped = false;
  async function poll() {
    const news = await get(`${foldPath(run, fold)}/history?from=${last}`).catch(() => null);
    if (stopped) return;
    if (!news) {
      listeners.lost?.();
      known = "";
      setTimeout(poll, LOST_PAUSE);
      return;
    }
    const { state, snapshots } = news;
    last = news.from;
    if (news.restarted) listeners.restart();
    if (snapshots.length) listeners.snapshots(snapshots);
    const isLast = !state.under_way && !snapshots.length; // at the end, all snapshots come first
    const text = JSON.stringify(state);
    if (text !== known && (state.under_way || isLast)) {
      known = text;
      listeners.state(state);
    }
    if (!isLast) setTimeout(poll, snapshots.length ? 0 : PAUSE);
  }
  poll();
  return () => { stopped = true; };
}
