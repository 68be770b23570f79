// A fold as it learns, from the server's events; for a page, or for the worker that all pages share.

/**
 * @typedef {{kind: "snapshots" | "restart" | "state" | "end" | "lost", data: any}} News
 */

/** @param {string} run @param {number} fold */
export const foldPath = (run, fold) => `/api/runs/${encodeURIComponent(run)}/folds/${fold}`;

/**
 * Listen until the end; a connection that is lost is taken up again from the last snapshot.
 * @param {string} path of the fold @param {(news: News) => void} onNews
 * @returns {() => void} call it to stop listening
 */
export function openStream(path, onNews) {
  /** @type {EventSource | null} */
  let source = null;
  let last = "";
  let over = false;
  const close = () => {
    over = true;
    source?.close();
  };
  const open = () => {
    if (over) return;
    source = new EventSource(`${path}/watch?from=${encodeURIComponent(last)}`);
    for (const kind of /** @type {const} */ (["snapshots", "restart", "state", "end"])) {
      source.addEventListener(kind, (event) => {
        if (kind === "snapshots") last = event.lastEventId;
        if (kind === "end") close();
        onNews({ kind, data: JSON.parse(event.data) });
      });
    }
    source.addEventListener("error", () => {
      if (over) return;
      onNews({ kind: "lost", data: null });
      if (source?.readyState === EventSource.CLOSED) setTimeout(open, 2000);
    });
  };
  open();
  return close;
}
