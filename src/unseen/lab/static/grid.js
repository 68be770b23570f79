// The grid of all pairs: choose on it what is unseen, then watch it take colour, then ask a cell.

import { make, percent, percentage } from "./dom.js";

/** @typedef {import("./api.js").Setup} Setup */

/** Colours of a share from 0 to 1: of the cell, and of what stands on it. @type {[string, string][]} */
let palette = [];

/** @param {[string, string][]} colours */
export function usePalette(colours) {
  palette = colours;
}

export class Grid {
  /**
   * @param {HTMLElement} container
   * @param {{onPaint?: (rows: Set<number>) => void, onAsk?: (row: number) => void}} [listeners]
   */
  constructor(container, { onPaint, onAsk } = {}) {
    this.container = container;
    this.onPaint = onPaint;
    this.onAsk = onAsk;
    this.choosing = false;
    /** @type {Setup | null} */
    this.setup = null;
    /** @type {any[]} */
    this.cells = [];
    /** @type {Set<number>} */
    this.unseen = new Set();
    /** @type {(number | null)[] | null} */
    this.shares = null;
    this.shape = "";
    /** @type {{to: boolean, before: Set<number>, id: number} | null} */
    this.stroke = null;
    container.addEventListener("pointerdown", (event) => this.#press(event));
    container.addEventListener("pointermove", (event) => this.#move(event));
    container.addEventListener("pointerup", () => this.#release());
    container.addEventListener("pointercancel", () => this.#takeBack());
    // not when a finger goes up: the click that follows would close the dialog under it
    container.addEventListener("click", (event) => this.#ask(event));
    container.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {Setup} setup @param {boolean} choosing */
  show(setup, choosing) {
    this.setup = setup;
    this.choosing = choosing;
    if (!this.stroke) this.unseen = new Set(setup.unseen);
    const shape = JSON.stringify([setup.places, setup.place_names]);
    if (shape !== this.shape) this.#build(setup);
    this.shape = shape;
    this.container.removeAttribute("aria-busy");
    this.paint();
  }

  /** The grid of all pairs of digits, empty until the lab has said what is asked. */
  sketch() {
    const digits = [...Array(10).keys()];
    this.#build({ places: [digits, digits] });
    this.container.setAttribute("aria-busy", "true");
  }

  /** Colour the grid by the share of each pair that is right; null takes the colours off. @param {(number | null)[] | null} shares */
  colour(shares) {
    this.shares = shares;
    this.paint();
  }

  /** @param {Pick<Setup, "places">} setup */
  #build(setup) {
    const { places } = setup;
    const last = places.length - 1;
    const signs = places.length === 3 && places[1].every((value) => typeof value === "string");
    const [top, row] = signs ? [1, 0] : [last - 2, last - 1];
    const worth = places.map((_, at) => places.slice(at + 1).reduce((product, values) => product * values.length, 1));
    this.cells = [];
    const several = top >= 0 && places[top].length > 1;
    const grids = make("div", { class: several ? "grids several" : "grids" });
    (top >= 0 ? places[top] : [null]).forEach((first, at) => {
      const rows = row >= 0 ? places[row] : [""];
      const table = make("table", { class: "pairs", role: "grid", "aria-multiselectable": "true", "aria-label": "All pairs; those that are selected are unseen" });
      if (first !== null) table.append(make("caption", { text: signs ? `left ${first} right` : `first ${first}` }));
      table.append(
        make("thead", {}, make("tr", { role: "row" }, make("td", { role: "presentation", class: "corner" }), ...places[last].map((value) => make("th", { scope: "col", role: "columnheader", text: this.#name(value), title: this.#title(value) })))),
        make("tbody", {}, ...rows.map((down, rowAt) =>
          make("tr", { role: "row" }, make("th", { scope: "row", role: "rowheader", text: this.#name(down), title: this.#title(down) }),
            ...places[last].map((_, columnAt) => {
              const index = (top >= 0 ? at * worth[top] : 0) + (row >= 0 ? rowAt * worth[row] : 0) + columnAt;
              const cell = make("td", { role: "gridcell", tabindex: "-1", "data-row": index });
              this.cells[index] = cell;
              return cell;
            })))),
      );
      table.style.setProperty("--columns", String(places[last].length));
      grids.append(make("div", { class: "slice" }, table));
    });
    this.container.replaceChildren(grids);
    const first = this.cells.find(Boolean);
    if (first) first.tabIndex = 0;
  }

  /** @param {number | string} value */
  #name(value) {
    return String(value);
  }

  /** @param {number | string} value */
  #title(value) {
    return typeof value === "number" ? (this.setup?.symbol_names[value] ?? null) : null;
  }

  /** Show each cell as it is now. */
  paint() {
    const { setup } = this;
    if (!setup) return;
    const open = new Set(setup.undetermined);
    const coloured = this.shares !== null;
    for (const table of this.container.querySelectorAll(".pairs")) {
      table.classList.toggle("coloured", coloured);
      table.classList.toggle("fixed", !this.choosing && !this.onAsk);
    }
    this.cells.forEach((cell, row) => {
      const unseen = this.unseen.has(row);
      const share = this.shares?.[row] ?? null;
      cell.classList.toggle("unseen", unseen);
      cell.classList.toggle("open", unseen && open.has(row));
      cell.setAttribute("aria-selected", String(unseen));
      const [colour, ink] = share === null ? ["", ""] : palette[percentage(share)] ?? ["", ""];
      cell.style.backgroundColor = colour;
      cell.style.color = ink;
      cell.textContent = share === null ? (coloured ? "·" : String(setup.answers[row]).replace("-", "−")) : String(percentage(share));
      cell.setAttribute("aria-label", this.#describe(row, unseen, share, open.has(row)));
    });
  }

  /** @param {number} row @param {boolean} unseen @param {number | null} share @param {boolean} open */
  #describe(row, unseen, share, open) {
    const setup = /** @type {Setup} */ (this.setup);
    const words = [`${combinationOf(setup, row).join(" and ")}, answer ${setup.answers[row]}`, unseen ? "unseen" : "seen"];
    if (share !== null) words.push(`${percent(share)} right`);
    if (unseen && open) words.push("its answer cannot be known");
    return words.join(", ");
  }

  /** @param {Event} event @returns {number | null} */
  #rowOf(event) {
    const target = /** @type {Element} */ (event.target);
    const cell = target instanceof Element ? /** @type {any} */ (target.closest("td[data-row]")) : null;
    return cell ? Number(cell.dataset.row) : null;
  }

  /** @param {PointerEvent} event */
  #press(event) {
    const row = this.#rowOf(event);
    if (row === null || event.button !== 0) return;
    this.#focus(row);
    if (!this.choosing) return;
    this.stroke = { to: !this.unseen.has(row), before: new Set(this.unseen), id: event.pointerId };
    this.container.setPointerCapture(event.pointerId); // it may be let go of outside of the grid
    this.#set(row, this.stroke.to);
  }

  /** @param {PointerEvent} event */
  #move(event) {
    if (!this.stroke || event.pointerId !== this.stroke.id) return;
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest("td[data-row]");
    if (under && this.container.contains(under)) this.#set(Number(/** @type {any} */ (under).dataset.row), this.stroke.to);
  }

  #release() {
    if (!this.stroke) return;
    this.stroke = null;
    this.onPaint?.(this.unseen);
  }

  /** @param {MouseEvent} event */
  #ask(event) {
    const row = this.#rowOf(event);
    if (row !== null && !this.choosing) this.onAsk?.(row);
  }

  /** The browser scrolls instead: nothing was meant. */
  #takeBack() {
    if (!this.stroke) return;
    this.unseen = this.stroke.before;
    this.stroke = null;
    this.paint();
  }

  /** @param {number} row @param {boolean} to */
  #set(row, to) {
    if (this.unseen.has(row) === to) return;
    if (to) this.unseen.add(row);
    else this.unseen.delete(row);
    this.paint();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const row = this.#rowOf(event);
    if (row === null) return;
    const cell = this.cells[row];
    const line = cell.parentElement;
    const column = [...line.children].indexOf(cell);
    const lines = [...this.container.querySelectorAll("tbody tr")]; // of all grids, one below the other
    const at = lines.indexOf(line);
    /** @type {Record<string, () => Element | null | undefined>} */
    const steps = {
      ArrowLeft: () => cell.previousElementSibling,
      ArrowRight: () => cell.nextElementSibling,
      ArrowUp: () => lines[at - 1]?.children[column],
      ArrowDown: () => lines[at + 1]?.children[column],
      Home: () => line.children[1],
      End: () => line.lastElementChild,
    };
    if (event.key in steps) {
      event.preventDefault();
      const to = /** @type {any} */ (steps[event.key]());
      if (to?.dataset.row) this.#focus(Number(to.dataset.row), true);
    } else if (event.key === " " || event.key === "Enter") {
      event.preventDefault();
      if (this.choosing) {
        this.#set(row, !this.unseen.has(row));
        this.onPaint?.(this.unseen);
      } else this.onAsk?.(row);
    }
  }

  /** @param {number} row @param {boolean} [move] */
  #focus(row, move = false) {
    for (const cell of this.cells) if (cell) cell.tabIndex = -1;
    this.cells[row].tabIndex = 0;
    if (move) this.cells[row].focus();
  }
}

/** The symbols of a row of the table of all combinations. @param {Setup} setup @param {number} row */
export function combinationOf(setup, row) {
  const found = [];
  for (const values of [...setup.places].reverse()) {
    found.unshift(values[row % values.length]);
    row = Math.floor(row / values.length);
  }
  return found;
}

/** The row of some symbols, each given by its number in its place. @param {Setup} setup @param {number[]} chosen */
export function rowOf(setup, chosen) {
  return setup.places.reduce((row, values, place) => row * values.length + chosen[place], 0);
}
