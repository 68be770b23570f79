// The page without a server: networks inside it answer what is drawn.

import { openNetwork } from "./network.js";
import { mountTry } from "./try.js";

/**
 * @typedef {object} FoldOfPage
 * @property {number} fold
 * @property {number[]} unseen rows of combinations that its network was never shown
 * @property {string} about how well it does
 * @property {import("./network.js").Graph} graph
 */
/**
 * @typedef {object} PageData
 * @property {string[][]} symbolNames by place
 * @property {string[]} placeNames
 * @property {string} symbol
 * @property {string} combination
 * @property {string} hint
 * @property {number[]} answers of all combinations, the last place fastest
 * @property {FoldOfPage[]} folds
 */

/** @type {PageData} */
const data = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? "");
const folds = data.folds.map((fold) => ({ ...fold, isUnseen: new Set(fold.unseen) }));
const sizes = data.symbolNames.map((names) => names.length);
/** @type {((panels: Uint8Array[]) => number)[]} */
const opened = [];
let at = 0; // which fold's network answers

/** The row of a combination. @param {number[]} chosen */
const rowOf = (chosen) => chosen.reduce((row, each, place) => row * sizes[place] + each, 0);

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const foldChoice = /** @type {HTMLSelectElement} */ (byId("fold"));
const about = byId("about"), other = byId("other");
const cells = /** @type {HTMLButtonElement[]} */ ([...document.querySelectorAll(".pair-cell")]);
/** @type {number[] | null} */
let chosen = null;

const tried = mountTry(byId("try"), {
  length: sizes.length,
  symbolNames: data.symbolNames,
  placeNames: data.placeNames,
  symbol: data.symbol,
  combination: data.combination,
  hint: data.hint,
  range: [Math.min(...data.answers), Math.max(...data.answers)],
  ask: async (panels) => (opened[at] ??= openNetwork(folds[at].graph))(panels),
  wasSeen: (combined) => !folds[at].isUnseen.has(rowOf(combined)),
  answerOf: (combined) => data.answers[rowOf(combined)],
  onChoose: (combined) => { chosen = combined; showFold(); },
});

function showFold() {
  const fold = folds[at];
  foldChoice.value = String(at);
  about.textContent = fold.about;
  const row = chosen ? rowOf(chosen) : -1;
  for (const cell of cells) {
    const own = Number(cell.dataset.row);
    cell.classList.toggle("unseen", fold.isUnseen.has(own));
    cell.setAttribute("aria-pressed", String(own === row));
    cell.setAttribute("aria-label", `${cell.title} = ${cell.textContent}, ${fold.isUnseen.has(own) ? "never seen" : "seen"} in training`);
  }
  const better = chosen && !fold.isUnseen.has(row) ? folds.findIndex((each) => each.isUnseen.has(row)) : -1;
  other.hidden = better < 0;
  if (better >= 0) {
    other.dataset.fold = String(better);
    other.textContent = `Ask the network of fold ${folds[better].fold}, which never saw this ${data.combination}`;
  }
}

/** @param {number} which */
function choose(which) {
  at = which;
  showFold();
  tried.refresh();
}

foldChoice.addEventListener("change", () => choose(Number(foldChoice.value)));
other.addEventListener("click", () => choose(Number(other.dataset.fold)));
cells.forEach((cell, index) => {
  cell.tabIndex = index ? -1 : 0;
  cell.addEventListener("click", (event) => {
    const row = Number(cell.dataset.row);
    const again = chosen && rowOf(chosen) === row;
    const columns = sizes[sizes.length - 1];
    chosen = again ? null : sizes.length === 1 ? [row] : [Math.floor(row / columns), row % columns];
    tried.choose(chosen);
    showFold();
    if (chosen && event.detail) byId("try").scrollIntoView({ block: "nearest" }); // not for the keyboard
  });
  cell.addEventListener("keydown", (event) => {
    const columns = sizes[sizes.length - 1];
    const step = { ArrowUp: -columns, ArrowDown: columns, ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = step && cells[index + step];
    if (!next) return;
    event.preventDefault();
    cells.forEach((each) => { each.tabIndex = each === next ? 0 : -1; });
    next.focus();
  });
});
showFold();
