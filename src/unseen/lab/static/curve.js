// The learning curve: how many are right, of seen and of unseen pairs, as training goes on.

import { draw, make, percent } from "./dom.js";

/** @typedef {import("./api.js").Snapshot} Snapshot */

const HEIGHT = 230;
const MOST_POINTS = 400; // of a line
const ROOM = { left: 34, right: 66, top: 26, bottom: 26 };

export class Curve {
  /** @param {HTMLElement} container @param {{onPick?: (at: number) => void}} [listeners] */
  constructor(container, { onPick } = {}) {
    this.container = container;
    this.onPick = onPick;
    /** @type {Snapshot[]} */
    this.snapshots = [];
    this.epochs = 1;
    /** @type {number | null} */
    this.guess = null;
    this.at = 0;
    this.width = 0;
    this.tip = make("div", { class: "tip", hidden: true });
    this.svg = draw("svg", { role: "img" });
    container.replaceChildren(this.svg, this.tip);
    new ResizeObserver(() => this.#draw()).observe(container);
    container.addEventListener("pointermove", (event) => this.#point(event));
    container.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
    });
    container.addEventListener("click", (event) => this.onPick?.(this.#nearest(event)));
  }

  /** @param {Snapshot[]} snapshots @param {number} epochs @param {number | null} guess @param {number} at */
  show(snapshots, epochs, guess, at) {
    Object.assign(this, { snapshots, epochs, guess, at });
    this.#draw();
  }

  /** @param {number} epochs */
  #x(epochs) {
    return ROOM.left + (epochs / this.epochs) * (this.width - ROOM.left - ROOM.right);
  }

  /** @param {number} share */
  #y(share) {
    return HEIGHT - ROOM.bottom - share * (HEIGHT - ROOM.top - ROOM.bottom);
  }

  #draw() {
    this.width = this.container.clientWidth;
    if (!this.width) return;
    const end = this.#x(this.epochs);
    const parts = [];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(
        draw("line", { class: "axis", x1: ROOM.left, x2: end, y1: this.#y(share), y2: this.#y(share) }),
        draw("text", { x: ROOM.left - 6, y: this.#y(share) + 4, "text-anchor": "end", text: 100 * share }),
      );
    }
    parts.push(draw("text", { x: 0, y: 12, text: "right, %" }));
    for (const [share, text] of [[0, "0"], [0.5, "half of the training"], [1, "all"]]) {
      parts.push(draw("text", { x: this.#x(Number(share) * this.epochs), y: HEIGHT - 8, "text-anchor": "middle", text }));
    }
    if (this.guess !== null) {
      const y = this.#y(this.guess);
      parts.push(
        draw("line", { class: "guess", x1: ROOM.left, x2: end, y1: y, y2: y }),
        draw("text", { class: "guess", x: ROOM.left + 6, y: y - 5, text: `your guess ${percent(this.guess)}` }),
      );
    }
    const now = this.snapshots[this.at];
    if (now) parts.push(draw("line", { class: "now", x1: this.#x(now.epochs), x2: this.#x(now.epochs), y1: ROOM.top, y2: HEIGHT - ROOM.bottom }));
    const labels = /** @type {{kind: "seen" | "unseen", x: number, y: number}[]} */ ([]);
    for (const kind of /** @type {const} */ (["seen", "unseen"])) {
      const points = this.snapshots.map((snapshot) => [this.#x(snapshot.epochs), this.#y(snapshot[kind].rounded ?? 0)]);
      if (!points.length) continue;
      const some = Math.ceil(points.length / MOST_POINTS);
      const drawn = points.filter((_, at) => at % some === 0 || at === points.length - 1);
      parts.push(draw("polyline", { class: `line ${kind}`, points: drawn.map((point) => point.join(",")).join(" ") }));
      if (now) {
        const [x, y] = points[this.at];
        parts.push(kind === "seen"
          ? draw("rect", { class: `dot ${kind}`, x: x - 4, y: y - 4, width: 8, height: 8 })
          : draw("circle", { class: `dot ${kind}`, cx: x, cy: y, r: 4.5 }));
      }
      const [x, y] = points[points.length - 1];
      labels.push({ kind, x, y });
    }
    if (labels.length === 2 && Math.abs(labels[0].y - labels[1].y) < 15) {
      const upper = labels[0].y <= labels[1].y ? 0 : 1;
      const middle = Math.min((labels[0].y + labels[1].y) / 2, this.#y(0) - 10); // above the axis' words
      labels[upper].y = middle - 7.5;
      labels[1 - upper].y = middle + 7.5;
    }
    for (const { kind, x, y } of labels) parts.push(draw("text", { class: kind, x: x + 8, y: y + 4, text: kind }));
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.svg.setAttribute("aria-label", this.#words());
    this.svg.replaceChildren(...parts);
  }

  #words() {
    const last = this.snapshots[this.snapshots.length - 1];
    if (!last) return "Learning curve; nothing was measured yet";
    return `Learning curve over ${this.snapshots.length} measurements; at the last one ${percent(last.unseen.rounded)} of unseen and ${percent(last.seen.rounded)} of seen pairs are right`;
  }

  /** @param {MouseEvent} event */
  #nearest(event) {
    const x = event.clientX - this.container.getBoundingClientRect().left;
    let best = 0;
    this.snapshots.forEach((snapshot, at) => {
      if (Math.abs(this.#x(snapshot.epochs) - x) < Math.abs(this.#x(this.snapshots[best].epochs) - x)) best = at;
    });
    return best;
  }

  /** @param {PointerEvent} event */
  #point(event) {
    const snapshot = this.snapshots[this.#nearest(event)];
    if (!snapshot) return;
    this.tip.textContent = `${momentOf(snapshot, this.epochs)} · unseen ${percent(snapshot.unseen.rounded, 1)} · seen ${percent(snapshot.seen.rounded, 1)}`;
    this.tip.hidden = false;
    const left = this.#x(snapshot.epochs) - this.tip.offsetWidth / 2;
    this.tip.style.left = `${Math.max(0, Math.min(left, this.width - this.tip.offsetWidth))}px`;
  }
}

/** When a snapshot was measured. @param {Snapshot} snapshot @param {number} epochs */
export function momentOf(snapshot, epochs) {
  const share = `${percent(snapshot.epochs / epochs)} of training`;
  return snapshot.seconds === null ? share : `${share}, ${snapshot.seconds.toFixed(1)} s`;
}
