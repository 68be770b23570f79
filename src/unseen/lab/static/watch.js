// A fold as it learns: figures, curve, samples, and a slider that rewinds them all.

import { follow } from "./api.js";
import { Curve, momentOf } from "./curve.js";
import { byId, decimal, duration, make, percent } from "./dom.js";

/**
 * @typedef {import("./api.js").Setup} Setup
 * @typedef {import("./api.js").Snapshot} Snapshot
 * @typedef {import("./api.js").State} State
 */

/** @type {Record<string, string>} */
const NOTES = {
  "worker died": "The process was killed once; another one goes on from where it was saved.",
  "fold damaged": "A file of this fold was damaged; it is trained again.",
  "record damaged": "The record of this run was damaged; it was written anew.",
  "other torch": "It was begun with another version of torch: last bits may differ.",
};

export class Watch {
  /** @param {{onSnapshot: (snapshot: Snapshot | null) => void, onState: (state: State) => void, onNews: () => void}} listeners */
  constructor({ onSnapshot, onState, onNews }) {
    this.onSnapshot = onSnapshot;
    this.onState = onState;
    this.onNews = onNews;
    /** @type {Snapshot[]} */
    this.snapshots = [];
    this.at = 0;
    /** @type {Setup | null} */
    this.setup = null;
    /** @type {State | null} */
    this.state = null;
    /** @type {(() => void) | null} */
    this.leave = null;
    /** @type {{time: number, share: number, start: number} | null} */
    this.since = null;
    /** @type {number | undefined} */
    this.playing = undefined;
    this.curve = new Curve(byId("curve"), { onPick: (at) => this.seek(at) });
    byId("slider").addEventListener("input", () => this.seek(Number(byId("slider").value)));
    byId("play").addEventListener("click", () => this.#play());
  }

  /** Follow a run from its first measurement. @param {Setup} setup */
  begin(setup) {
    this.end();
    Object.assign(this, { setup, snapshots: [], at: 0, state: null, since: null });
    byId("history").hidden = false;
    byId("before").hidden = true;
    for (const each of document.querySelectorAll(".things")) each.textContent = setup.things;
    this.#buildSamples(setup);
    this.#show();
    this.leave = follow(/** @type {string} */ (setup.run), setup.fold, {
      snapshots: (snapshots) => {
        const live = this.at >= this.snapshots.length - 1;
        this.snapshots.push(...snapshots);
        if (live) this.at = this.snapshots.length - 1;
        this.#show();
        this.onNews();
      },
      restart: () => {
        this.snapshots = [];
        this.at = 0;
        this.#show();
      },
      state: (state) => this.#receive(state),
      lost: () => showStatus("The lab does not answer; trying again.", true),
    });
  }

  /** Show nothing any more. */
  end() {
    this.leave?.();
    this.leave = null;
    clearInterval(this.playing);
    this.playing = undefined;
    this.setup = this.state = null;
    this.snapshots = [];
    byId("history").hidden = true;
    byId("before").hidden = false;
    byId("progress-box").hidden = true;
    byId("verdict").textContent = "";
    showStatus("");
  }

  get isLast() {
    return this.at >= this.snapshots.length - 1;
  }

  /** Rewind to a measurement. @param {number} at */
  seek(at) {
    this.at = Math.max(0, Math.min(at, this.snapshots.length - 1));
    this.#show();
  }

  #play() {
    clearInterval(this.playing);
    if (!this.isLast && this.playing !== undefined) {
      this.playing = undefined;
      return;
    }
    this.seek(this.isLast ? 0 : this.at);
    const pause = Math.max(80, Math.min(500, 6000 / this.snapshots.length));
    this.playing = window.setInterval(() => {
      this.seek(this.at + 1);
      if (this.isLast) {
        clearInterval(this.playing);
        this.playing = undefined;
      }
    }, pause);
  }

  /** @param {State} state */
  #receive(state) {
    const setup = /** @type {Setup} */ (this.setup);
    this.state = state;
    const share = (state.progress?.epochs ?? 0) / setup.epochs;
    byId("progress-box").hidden = !state.under_way;
    byId("progress").value = share;
    const start = state.progress?.start ?? 1;
    byId("left").textContent = this.#left(share, start);
    const noted = state.notes.map(({ kind }) => NOTES[kind] ?? "").filter(Boolean).pop() ?? "";
    const said = {
      starting: "Starting…",
      training: share >= 1 ? "Learnt; now it is tested." : start > 1 ? `It learns once more: seen pairs came out wrong (start ${start}).` : "It learns.",
      elsewhere: "Another process trains this run.",
      done: "",
      stopped: "Stopped. What it has learnt so far answers under Try; Go on continues from what is saved.",
      failed: state.fault,
      killed: `${state.fault} Go on continues from what was saved.`,
      unfinished: "Unfinished: its training was stopped or killed. Go on continues from what was saved.",
    }[state.status] ?? state.status;
    showStatus([said, noted].filter(Boolean).join(" "), ["failed", "killed"].includes(state.status));
    this.#show();
    this.onState(state);
  }

  /** How much time is left, from how fast it went since we look. @param {number} share @param {number} start */
  #left(share, start) {
    const time = performance.now() / 1000;
    if (share <= 0) return "";
    if (!this.since || share < this.since.share || start !== this.since.start) this.since = { time, share, start };
    const gone = time - this.since.time;
    if (share >= 1) return "testing…";
    if (gone < 1 || share === this.since.share) return percent(share);
    return `${duration((gone * (1 - share)) / (share - this.since.share))} left`;
  }

  /** @param {Setup} setup */
  #buildSamples(setup) {
    const shown = setup.shown ?? [];
    byId("samples-title").hidden = !shown.length;
    byId("samples").replaceChildren(...shown.map(({ combination, answer, picture }) =>
      make("li", {}, make("img", { src: picture, alt: combination.join(" and ") }),
        make("span", { class: "said" }, make("span", { text: "–" }), make("span", {})),
        make("span", { class: "true", text: `answer ${answer}` }))));
  }

  /** Everything as it was at the measurement that the slider is at. */
  #show() {
    const { setup, snapshots, state } = this;
    if (!setup) return;
    const snapshot = snapshots[this.at] ?? null;
    const outcome = this.isLast ? state?.outcome : null;
    const unseen = outcome ? outcome.measures.rounded : snapshot?.unseen.rounded;
    const seen = outcome?.quadrants.seen_test ?? snapshot?.seen.rounded;
    byId("right-unseen").textContent = snapshot || outcome ? percent(unseen, outcome ? 1 : 0) : "–";
    byId("right-seen").textContent = snapshot || outcome ? percent(seen, outcome ? 1 : 0) : "–";
    byId("guessed").hidden = setup.guess === null;
    byId("right-guess").textContent = setup.guess === null ? "" : percent(setup.guess);
    this.curve.show(snapshots, setup.epochs, setup.guess, this.at);
    const slider = byId("slider");
    slider.max = Math.max(0, snapshots.length - 1);
    slider.value = this.at;
    slider.disabled = byId("play").disabled = snapshots.length < 2;
    const moment = snapshot ? momentOf(snapshot, setup.epochs) : "";
    byId("moment").textContent = moment;
    slider.setAttribute("aria-valuetext", moment);
    byId("curve-caption").textContent = this.#caption(snapshot);
    const items = /** @type {any[]} */ ([...byId("samples").children]);
    items.forEach((item, at) => {
      const said = snapshot?.shown[at];
      const [number, mark] = item.querySelector(".said").children;
      const answer = setup.shown?.[at].answer ?? 0;
      const right = said !== null && said !== undefined && Math.round(said) === answer;
      number.textContent = said === undefined ? "–" : said === null ? "NaN" : `${decimal(said, 1)} → ${Math.round(said)}`;
      mark.textContent = said === undefined ? "" : right ? "✓" : "✗";
      mark.setAttribute("aria-label", right ? "right" : "wrong");
      mark.className = right ? "good" : "wrong";
    });
    this.onSnapshot(snapshot);
  }

  /** @param {Snapshot | null} snapshot */
  #caption(snapshot) {
    const last = this.snapshots[this.snapshots.length - 1];
    if (last && last.unseen.mse === null) {
      return "Training diverged: the network's answers are NaN. A smaller learning rate may help.";
    }
    if (this.state?.status === "done" && !this.snapshots.length) return "Nothing was measured while it learnt.";
    return snapshot ? "Pictures that round to the right answer, in handwriting that it has never seen." : "";
  }
}

/** Say where training stands. @param {string} text @param {boolean} [bad] */
export function showStatus(text, bad = false) {
  const status = byId("status");
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle("bad", bad);
}
