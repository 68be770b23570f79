// Asking the server, and listening to it. Whatever it refuses, it says in words.

/**
 * @typedef {{preset: string, settings: Record<string, any>, fold: number, guess: number | null}} Choice
 * @typedef {{epochs: number, seconds: number | null, seen: Record<string, number | null>,
 *   unseen: Record<string, number | null>, share: (number | null)[], mean: (number | null)[],
 *   shown: (number | null)[]}} Frame
 * @typedef {{combination: (number | string)[], answer: number, picture: string}} Shown
 * @typedef {{preset: string, settings: Record<string, any>, fold: number, folds: number,
 *   places: (number | string)[][], place_names: string[], symbol_names: string[], answers: number[],
 *   unseen: number[], undetermined: number[], leakage: string[], things: string, symbol: string,
 *   answers_word: string, picture: number[], epochs: number, command: string | null,
 *   seconds: number | null, estimates: Record<string, number | null>, run: string | null, label?: string, guess: number | null,
 *   shown?: Shown[]}} Setup
 * @typedef {{status: string, fault: string, notes: {kind: string}[],
 *   progress: {epochs: number, loss: number | null} | null,
 *   outcome: {measures: Record<string, number | null>, quadrants: Record<string, number | null>,
 *     seconds: number, parameters: number} | null}} State
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
 * Listen to a fold as it learns. A hidden tab lets go, and goes on from where it was: a browser
 * keeps only a few connections to one server, and many tabs would use them up.
 * @param {string} run @param {number} fold
 * @param {{frames: (frames: Frame[]) => void, restart: () => void, state: (state: State) => void,
 *   end?: () => void, lost?: () => void}} told
 * @returns {() => void} call it to stop listening
 */
export function listen(run, fold, told) {
  /** @type {EventSource | null} */
  let source = null;
  let last = "";
  let over = false;
  const close = () => {
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || over || document.hidden) return;
    source = new EventSource(`${foldPath(run, fold)}/watch?from=${encodeURIComponent(last)}`);
    source.addEventListener("frames", (event) => {
      last = event.lastEventId;
      told.frames(JSON.parse(event.data));
    });
    source.addEventListener("restart", () => told.restart());
    source.addEventListener("state", (event) => told.state(JSON.parse(event.data)));
    source.addEventListener("end", () => {
      over = true;
      close();
      told.end?.();
    });
    source.addEventListener("error", () => {
      if (over) return;
      told.lost?.();
      if (source?.readyState === EventSource.CLOSED) {
        close();
        setTimeout(open, 2000);
      }
    });
  };
  const look = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", look);
  open();
  return () => {
    over = true;
    document.removeEventListener("visibilitychange", look);
    close();
  };
}
