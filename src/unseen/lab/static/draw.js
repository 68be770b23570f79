// A square to draw in, by mouse, finger or pen.

import { SIDE, prepareStrokes } from "./prepare.js";

/** @typedef {import("./prepare.js").Point} Point */
/** @typedef {{strokes: Point[][], picture: Uint8Array | null}} Drawing in shares of the square's side */

/** @type {Drawing} */
const NOTHING = { strokes: [], picture: null };
export const PEN_WIDTHS = { least: 0.03, usual: 0.08, most: 0.15 }; // in shares of the square's side

export class DrawingPad {
  /** @type {Drawing} */
  #drawing = NOTHING;
  /** @type {Drawing[]} */
  #earlier = [];
  /** @type {number | null} */
  #pointer = null; // the one that draws: a hand that rests on the screen does not
  /** @type {Uint8Array | null | undefined} */
  #prepared = null; // undefined: not yet
  #penWidth = PEN_WIDTHS.usual;

  /** @param {HTMLCanvasElement} canvas @param {{onChange?: () => void}} [listeners] */
  constructor(canvas, { onChange = () => {} } = {}) {
    this.canvas = canvas;
    this.onChange = onChange;
    canvas.style.touchAction = "none"; // else the page scrolls under the finger
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
      canvas.addEventListener(end, (event) => this.#end(/** @type {PointerEvent} */ (event)));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault()); // of a long touch
    canvas.addEventListener("keydown", (event) => {
      const isUndo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
      if (isUndo) this.undo();
      else if (event.key === "Delete" || event.key === "Backspace") this.clear();
      else return;
      event.preventDefault();
    });
    new ResizeObserver(() => this.redraw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
    new MutationObserver(() => this.redraw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  isEmpty() {
    return !this.#drawing.strokes.length && !this.#drawing.picture;
  }

  canUndo() {
    return this.#earlier.length > 0;
  }

  /** What a network sees of it, 28 × 28 grey values; null if it is empty. */
  pixels() {
    if (this.#prepared === undefined)
      this.#prepared = this.#drawing.picture ?? prepareStrokes(this.#drawing.strokes, this.#penWidth);
    return this.#prepared;
  }

  undo() {
    this.#pointer = null;
    this.#show(this.#earlier.pop() ?? NOTHING);
  }

  clear() {
    if (this.isEmpty()) return;
    this.#pointer = null;
    this.#change(NOTHING);
  }

  /** Show a picture that is prepared already. @param {Uint8Array | null} pixels */
  setPicture(pixels) {
    this.#pointer = null;
    this.#change({ strokes: [], picture: pixels });
  }

  /** Show strokes, in shares of the square's side. @param {Point[][]} strokes */
  setStrokes(strokes) {
    this.#change({ strokes, picture: null });
  }

  /** @param {number} width in shares of the square's side */
  setPenWidth(width) {
    this.#penWidth = Math.min(PEN_WIDTHS.most, Math.max(PEN_WIDTHS.least, width));
    this.#show(this.#drawing);
  }

  redraw() {
    const { canvas } = this;
    const side = Math.max(1, Math.round(canvas.clientWidth * devicePixelRatio));
    if (canvas.width !== side || canvas.height !== side) [canvas.width, canvas.height] = [side, side];
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    const ink = getComputedStyle(canvas).color;
    context.clearRect(0, 0, side, side);
    if (this.#drawing.picture) drawPixels(context, this.#drawing.picture, ink);
    context.strokeStyle = context.fillStyle = ink;
    context.lineWidth = this.#penWidth * side;
    context.lineCap = context.lineJoin = "round";
    for (const stroke of this.#drawing.strokes) {
      context.beginPath();
      for (const { x, y } of [stroke[0], ...stroke]) context.lineTo(x * side, y * side);
      context.stroke();
    }
  }

  /** @param {Drawing} drawing */
  #change(drawing) {
    this.#earlier.push(this.#drawing);
    this.#show(drawing);
  }

  /** @param {Drawing} drawing */
  #show(drawing) {
    this.#drawing = drawing;
    this.#prepared = undefined;
    this.redraw();
    this.onChange();
  }

  /** @param {PointerEvent} event */
  #begin(event) {
    if (this.#pointer !== null || event.button !== 0) return;
    event.preventDefault(); // of selecting text
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.#pointer = event.pointerId;
    this.#change({ strokes: [...this.#drawing.strokes, [this.#point(event)]], picture: null });
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (event.pointerId !== this.#pointer) return;
    const passed = event.getCoalescedEvents?.() ?? [];
    const points = (passed.length ? passed : [event]).map((each) => this.#point(each));
    const strokes = this.#drawing.strokes.slice();
    strokes.push([...(strokes.pop() ?? []), ...points]);
    this.#show({ strokes, picture: null });
  }

  /** @param {PointerEvent} event */
  #end(event) {
    if (event.pointerId === this.#pointer) this.#pointer = null;
  }

  /** @param {PointerEvent} event @returns {Point} */
  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
  }
}

/**
 * Draw 28 × 28 grey values as large as the canvas, as ink in a colour that may be see-through.
 * @param {CanvasRenderingContext2D} context @param {Uint8Array} pixels @param {string} ink
 */
function drawPixels(context, pixels, ink) {
  const step = context.canvas.width / SIDE;
  context.fillStyle = ink;
  pixels.forEach((grey, at) => {
    context.globalAlpha = grey / 255;
    context.fillRect((at % SIDE) * step, Math.floor(at / SIDE) * step, step + 0.5, step + 0.5);
  });
  context.globalAlpha = 1;
}
