// The whole state of the lab in the address, after the #: paste it into another lab.

/** @typedef {import("./api.js").Choice} Choice */

/** A choice as the text after the #. @param {Choice} choice */
export function toHash(choice) {
  const words = new URLSearchParams({ preset: choice.preset });
  for (const [name, value] of Object.entries(choice.settings).sort()) {
    if (Array.isArray(value) && !value.length) continue; // nothing is unseen yet: no experiment
    words.set(name, Array.isArray(value) ? listText(value) : String(value));
  }
  if (choice.fold !== 1) words.set("fold", String(choice.fold));
  if (choice.guess !== null) words.set("guess", String(Math.round(100 * choice.guess)));
  return `#${words}`;
}

/** The choice that an address holds; null if it holds none. @param {string} hash @returns {Choice | null} */
export function fromHash(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  if (!words.has("preset")) return null;
  /** @type {Choice} */
  const choice = { preset: words.get("preset") ?? "fast", settings: {}, fold: 1, guess: null };
  for (const [name, text] of words) {
    if (name === "preset") continue;
    if (name === "fold") choice.fold = Number.parseInt(text, 10) || 1;
    else if (name === "guess") choice.guess = /^\d+$/.test(text) ? Math.min(1, Number(text) / 100) : null;
    else if (name === "split" && /^\d/.test(text)) choice.settings.split = listOf(text);
    else choice.settings[name] = text;
  }
  return choice;
}

/** A list of combinations, or of several folds of them, as text. @param {any[]} list @returns {string} */
const listText = (list) =>
  Array.isArray(list[0]?.[0]) ? list.map(listText).join("~") : list.map((each) => each.join(".")).join("_");

/** @param {string} text */
const listOf = (text) => (text.includes("~") ? text.split("~").map(combinations) : combinations(text));

/** @param {string} text */
const combinations = (text) =>
  text.split("_").map((each) => each.split(".").map((part) => (/^\d+$/.test(part) ? Number(part) : part)));
