// The lab: choose what a network never sees, guess, watch it learn, ask it, and try it.

import { fromHash, toHash } from "./address.js";
import { foldPath, get, post } from "./api.js";
import { askCell } from "./cell.js";
import { Form } from "./choose.js";
import { byId, copy, make, openDialog, percent, percentage } from "./dom.js";
import { Grid, combinationOf, rowOf, usePalette } from "./grid.js";
import { showRuns } from "./runs.js";
import { mountTry } from "./try.js";
import { Watch, showStatus } from "./watch.js";

/**
 * @typedef {import("./api.js").Choice} Choice
 * @typedef {import("./api.js").Setup} Setup
 * @typedef {import("./api.js").LabError} LabError
 */

const VERBS = /** @type {Record<string, string>} */ ({ add: "add", subtract: "subtract", multiply: "multiply" });
const TRY_LATER = byId("try-network").textContent; // as the page begins
const PATIENCE = 120; // milliseconds between a change and its question to the server

/** @type {Choice} */
const choice = { preset: "fast", settings: {}, fold: 1, guess: null };
/** @type {Setup | null} */
let setup = null; // as the server understands the choice
/** @type {Setup | null} */
let shown = null; // the run that is watched; null while choosing
/** @type {{run: string, fold: number, under_way: boolean} | null} */
let training = null; // what the lab trains, or has trained last
let asked = 0; // counts the questions, so that late answers are left out
let changed = "";
let usable = true; // whether the choice can be trained
/** @type {number | undefined} */
let waiting;
/** @type {{refresh?: () => void} | undefined | void} */
let trying;

const grid = new Grid(byId("grid"), { onPaint: choosePairs, onAsk: (row) => shown?.run && askCell(shown, shown.run, row) });
const watch = new Watch({
  onSnapshot: (snapshot) => shown && grid.colour(snapshot?.share ?? null),
  onState: receiveState,
  onNews: () => trying?.refresh?.(),
});

grid.sketch();
const lab = await start();
const form = new Form(lab.catalogue, choice, (name) => {
  changed = name;
  const opening = name === "fold" && shown !== null; // another network of the same run
  leaveRun();
  form.showChoice();
  askSoon(opening);
});
wire();
showTry();
await open();
document.documentElement.dataset.ready = "yes";

/** @returns {Promise<any>} */
async function start() {
  try {
    const state = await get("/api/lab");
    usePalette(state.colours);
    return state;
  } catch (fault) {
    complain(fault);
    throw fault;
  }
}

/** Open what the address says; else the run that the lab was started with, or the one it trains. */
async function open() {
  const given = fromHash(location.hash);
  training = lab.training;
  if (given) {
    Object.assign(choice, given);
    await ask(true);
  } else if (lab.first_run) await openRun(lab.first_run);
  else if (training?.under_way) await openRun(training.run, training.fold);
  else await ask(false);
}

/** Ask the server what the choice means. @param {boolean} opening whether a run of it is to be shown */
async function ask(opening) {
  const number = ++asked;
  if (Array.isArray(choice.settings.split) && !choice.settings.split.length) {
    // nothing is unseen: show an empty grid, and say what to do
    if (setup) grid.show({ ...setup, unseen: [], undetermined: [] }, true);
    byId("leakage").replaceChildren(make("li", { text: "Click or drag over pairs to make them unseen." }));
    usable = false;
    controls();
    return;
  }
  try {
    const { preset, settings, fold } = choice;
    const answer = await post("/api/setup", { preset, settings, fold });
    if (number !== asked) return;
    setup = answer;
    usable = true;
    form.showFault(changed, null);
    if (opening && answer.run) return openRun(answer.run, answer.fold, choice.guess);
    showSetup(answer);
  } catch (fault) {
    if (number !== asked) return;
    form.showFault(/** @type {LabError} */ (fault).setting ?? changed, /** @type {Error} */ (fault).message);
    usable = false;
    controls();
    if (!setup) await fallBack();
  }
}

/** An address that means nothing here: begin with what always works. */
async function fallBack() {
  const said = byId("error-other").textContent || byId("error-split").textContent || byId("error-operation").textContent;
  Object.assign(choice, { preset: "fast", settings: {}, fold: 1 });
  setup = await post("/api/setup", { preset: "fast", settings: {}, fold: 1 });
  usable = true;
  showSetup(/** @type {Setup} */ (setup));
  complain(new Error(`The address cannot be used: ${said}`));
}

/** @param {Setup} described */
function describe(described) {
  form.show(described);
  form.pairs = described.unseen.map((row) => combinationOf(described, row));
  const operation = String(form.value("operation"));
  const what = VERBS[operation] ?? (operation.startsWith("shown:") ? "do what a sign says with" : operation.startsWith("table:") ? "know random answers to" : `work out ${operation} for`);
  byId("question").textContent = `Can a network ${what} ${described.things} it has never seen?`;
  for (const each of document.querySelectorAll(".things")) each.textContent = described.things;
  for (const each of document.querySelectorAll(".answers")) each.textContent = described.answers_word;
  byId("guess-label").textContent = `Of 100 pictures of unseen ${described.things}, how many will it get right?`;
  byId("leakage").replaceChildren(...described.leakage.map((text) =>
    make("li", { class: text.startsWith("warning: ") ? "warning" : "", text: sentence(text.replace("warning: ", "")) })));
  byId("leakage").hidden = false;
  remember();
}

/** Show a choice that is not trained yet. @param {Setup} described */
function showSetup(described) {
  describe(described);
  grid.colour(null);
  grid.show(described, true);
  legend(described, false);
  if (choice.guess === null && described.guess !== null) choice.guess = described.guess;
  showGuess();
  controls();
}

/** Show a run. @param {string} name @param {number} [fold] @param {number | null} [guess] about this run, if none is kept with it */
async function openRun(name, fold, guess = null) {
  try {
    const opened = await get(`/api/runs/${encodeURIComponent(name)}${fold ? `?fold=${fold}` : ""}`);
    asked += 1;
    setup = shown = opened;
    usable = true;
    choice.guess = opened.guess ??= guess;
    describe(opened);
    form.showFault(changed, null);
    grid.show(opened, false);
    grid.colour([]);
    legend(opened, true);
    watch.begin(opened);
    showTry();
    controls();
  } catch (fault) {
    complain(fault);
    if (!setup) await ask(false);
  }
}

/** From a run that is shown back to choosing; it goes on by itself. */
function leaveRun() {
  if (!shown) return;
  shown = null;
  watch.end();
  choice.guess = null;
  showTry();
}

/** @param {Set<number>} rows */
function choosePairs(rows) {
  const described = /** @type {Setup} */ (setup);
  form.set("split", [...rows].sort((a, b) => a - b).map((row) => combinationOf(described, row)));
}

/** Ask once the person rests; that nothing is unseen needs no asking. @param {boolean} [opening] */
function askSoon(opening = false) {
  clearTimeout(waiting);
  asked += 1; // an answer that is under way is about an earlier choice
  const isEmpty = Array.isArray(choice.settings.split) && !choice.settings.split.length;
  waiting = window.setTimeout(() => ask(opening), isEmpty ? 0 : PATIENCE);
}

/** @param {import("./api.js").State} state */
function receiveState(state) {
  if (training && isShown(training)) training.under_way = ["starting", "training"].includes(state.status);
  if (state.status === "done") showOutcome(state);
  controls(state.status);
}

/** @param {{run: string, fold: number}} some */
function isShown(some) {
  return shown?.run === some.run && shown?.fold === some.fold;
}

/** @param {import("./api.js").State} state */
async function showOutcome(state) {
  const run = shown?.run;
  const right = state.outcome?.measures.rounded;
  const words = make("span", {});
  if (shown?.guess !== null && shown && right !== null && right !== undefined) {
    const points = percentage(right) - percentage(shown.guess ?? 0);
    const far = points === 0 ? "exactly that" : `${Math.abs(points)} points ${points > 0 ? "more" : "fewer"}`;
    words.append(make("b", { class: "outcome", text: `You guessed ${percent(shown.guess)}; it got ${percent(right)}: ${far}.` }), " ");
  }
  byId("verdict").replaceChildren(words);
  try {
    const said = await get(`/api/runs/${encodeURIComponent(/** @type {string} */ (run))}/verdict`);
    if (shown?.run !== run) return;
    words.append(make("b", { text: `${said.headline}. ` }), said.sentences[0] ?? "", " ",
      make("a", { href: `/runs/${encodeURIComponent(/** @type {string} */ (run))}/report`, target: "_blank", rel: "noopener", text: "The whole report" }));
  } catch {
    // the figures stand without their verdict
  }
}

/** Which buttons there are. @param {string} [status] */
function controls(status = watch.state?.status ?? "") {
  const underWay = shown !== null && ["starting", "training"].includes(status);
  const isOver = shown !== null && ["done", "elsewhere"].includes(status);
  const begun = shown !== null && ["stopped", "killed", "unfinished", "failed"].includes(status);
  byId("stop").hidden = !underWay;
  byId("start").hidden = underWay || isOver || (shown !== null && !begun);
  byId("start").textContent = begun ? "Go on" : "Start";
  byId("start").disabled = !setup || !usable || Boolean(training?.under_way);
  byId("open-share").disabled = !usable;
  byId("guess-card").hidden = shown !== null;
  byId("change").hidden = shown === null;
  byId("change").textContent = `Choose other ${setup?.things ?? "pairs"}`;
  byId("clear").hidden = shown !== null;
  byId("show-run").hidden = shown !== null || !setup?.run;
  byId("watch-words").textContent = shown ? "Watch it learn" : "Guess, then watch";
  const elsewhere = byId("elsewhere");
  const other = training?.under_way && !isShown(training) ? training : null;
  if (other && elsewhere.hidden) {
    elsewhere.replaceChildren("The lab trains another run. ", make("button", { type: "button", text: "Show it", onclick: () => openRun(other.run, other.fold) }));
  }
  elsewhere.hidden = !other;
}

/** @param {Setup} described @param {boolean} coloured */
function legend(described, coloured) {
  byId("legend").replaceChildren(
    make("span", {}, make("i", { class: "u" }), ` unseen (${described.unseen.length} of ${described.answers.length})`),
    coloured ? make("span", {}, "right: 0 % ", make("i", { class: "scale" }), " 100 %") : make("span", {}, `numbers: the ${described.answers_word}`),
    ...(coloured ? [] : [make("span", {}, "click or drag to choose")]),
    ...(described.undetermined.length ? [make("span", {}, "? cannot be known")] : []),
    ...(coloured ? [make("span", {}, `click a ${described.things.replace(/s$/, "")} to ask about it`)] : []),
  );
}

function showGuess() {
  const slider = byId("guess");
  slider.classList.toggle("untouched", choice.guess === null);
  if (choice.guess !== null) slider.value = Math.round(100 * choice.guess);
  byId("guess-value").textContent = choice.guess === null ? "?" : String(Math.round(100 * choice.guess));
}

/** Keep the whole state in the address. */
function remember() {
  history.replaceState(null, "", toHash(choice));
}

async function train() {
  byId("start").disabled = true;
  showStatus("Starting…");
  try {
    const { preset, settings, fold, guess } = choice;
    const begun = await post("/api/start", { preset, settings, fold, guess });
    training = begun;
    await openRun(begun.run, begun.fold);
    byId("stop").focus();
  } catch (fault) {
    showStatus("");
    complain(fault);
    controls();
  }
}

async function halt() {
  byId("stop").disabled = true;
  try {
    await post("/api/stop", {});
  } catch (fault) {
    complain(fault);
  }
  byId("stop").disabled = false;
}

/** The third part: the network that is shown answers to what is drawn. */
function showTry() {
  const run = shown?.run;
  const described = shown;
  byId("try-network").textContent = run ? "" : TRY_LATER;
  trying = undefined;
  byId("try-box").replaceChildren();
  if (!run || !described) return;
  const [height, width] = described.picture;
  if (height !== 28 || width !== 28) {
    byId("try-network").textContent = `These symbols are ${height} × ${width}; only 28 × 28 can be drawn here.`;
    return;
  }
  const unseen = new Set(described.unseen);
  trying = mountTry(byId("try-box"), {
    length: described.places.length,
    symbolNames: described.places.map((values) => values.map((value) => [value, described.symbol_names[Number(value)]].filter((each) => each !== undefined).join(" "))),
    placeNames: described.place_names,
    symbol: described.symbol,
    combination: described.things.replace(/s$/, ""),
    range: [Math.min(...described.answers), Math.max(...described.answers)],
    ask: async (panels) => {
      try {
        const answered = await post(`${foldPath(run, described.fold)}/answer`, { panels: panels.map(base64) });
        byId("try-network").textContent = answered.answer === null ? "The network answers NaN: its training diverged." : "";
        return answered.answer;
      } catch (fault) {
        byId("try-network").textContent = /** @type {Error} */ (fault).message;
        return null;
      }
    },
    wasSeen: (chosen) => !unseen.has(rowOf(described, chosen)),
    answerOf: (chosen) => described.answers[rowOf(described, chosen)],
  });
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function wire() {
  byId("guess").addEventListener("input", () => {
    choice.guess = Number(byId("guess").value) / 100;
    showGuess();
    remember();
  });
  byId("start").addEventListener("click", train);
  byId("stop").addEventListener("click", halt);
  byId("show-run").addEventListener("click", () => setup?.run && openRun(setup.run, setup.fold, choice.guess));
  byId("change").addEventListener("click", () => {
    leaveRun();
    ask(false);
  });
  byId("open-runs").addEventListener("click", () => showRuns((run) => openRun(run)));
  byId("open-share").addEventListener("click", () => {
    remember();
    byId("share-address").value = location.href.replace(/\?token=[^#]*/, "");
    byId("share-command").value = setup?.command ?? "No command line repeats it.";
    byId("copied").textContent = "";
    openDialog(byId("share-dialog"));
  });
  for (const button of /** @type {any} */ (document.querySelectorAll("[data-copies]"))) {
    button.addEventListener("click", async () => {
      await copy(byId(button.dataset.copies).value);
      byId("copied").textContent = "Copied.";
    });
  }
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  window.addEventListener("hashchange", () => {
    const given = fromHash(location.hash);
    if (!given || toHash(given) === toHash(choice)) return;
    leaveRun();
    Object.assign(choice, given);
    ask(true);
  });
  setInterval(look, 3000);
}

/** Now and then, see whether the lab trains something that is not shown. */
async function look() {
  if (document.hidden || (shown && ["starting", "training"].includes(watch.state?.status ?? ""))) return;
  try {
    training = (await get("/api/training")).training;
    controls();
  } catch {
    // the next request will say so
  }
}

/** @param {unknown} fault */
function complain(fault) {
  const place = byId("fault");
  place.textContent = /** @type {Error} */ (fault).message;
  place.hidden = false;
  setTimeout(() => {
    place.hidden = true;
  }, 12000);
}

/** @param {string} text */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
