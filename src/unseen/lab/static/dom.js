// Small things that every part of the page needs.

/** @param {string} id @returns {any} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/**
 * Make an element: make("li", {class: "unseen", text: "3"}, child, …).
 * @param {string} tag @param {Record<string, any>} [given] @param {...(Node | string)} children
 * @returns {any}
 */
export function make(tag, given = {}, ...children) {
  return dress(document.createElement(tag), given, children);
}

/** The same for drawings. @param {string} tag @param {Record<string, any>} [given] @param {...(Node | string)} children @returns {any} */
export function draw(tag, given = {}, ...children) {
  return dress(document.createElementNS("http://www.w3.org/2000/svg", tag), given, children);
}

/** @param {any} element @param {Record<string, any>} given @param {(Node | string)[]} children */
function dress(element, given, children) {
  for (const [name, value] of Object.entries(given)) {
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const HALF_UP = 1e-9; // a half is rounded up, whichever way a sum of floats has missed it

/** A share in percent, rounded as `format_percent` of report/words.py does. @param {number} share @param {number} [digits] */
export const percentage = (share, digits = 0) => Number((100 * share + HALF_UP).toFixed(digits));

/** @param {number | null | undefined} share @param {number} [digits] */
export const percent = (share, digits = 0) =>
  share === null || share === undefined ? "NaN" : `${percentage(share, digits).toFixed(digits)} %`;

/** @param {number | null | undefined} value @param {number} [digits] */
export const decimal = (value, digits = 2) =>
  value === null || value === undefined ? "NaN" : value.toFixed(digits).replace("-", "−");

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Open a dialog that closes with its button, with Escape, and with a click beside it. @param {any} dialog */
export function openDialog(dialog) {
  if (!dialog.dataset.ready) {
    dialog.dataset.ready = "yes";
    dialog.querySelector(".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      if (event.target === dialog) dialog.close();
    });
  }
  if (!dialog.open) dialog.showModal();
}

/** @param {string} text @returns {Promise<void>} */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "visually-hidden" });
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
