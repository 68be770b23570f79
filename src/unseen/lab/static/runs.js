// The runs of the folder: open one, read its report, set two side by side.

import { follow, get } from "./api.js";
import { Curve } from "./curve.js";
import { byId, decimal, make, openDialog, percent } from "./dom.js";
import { Grid } from "./grid.js";

/** @param {(run: string) => void} open */
export async function showRuns(open) {
  const dialog = byId("runs-dialog");
  const body = byId("runs-body");
  body.replaceChildren(make("p", { class: "soft", text: "Reading the runs…" }));
  openDialog(dialog);
  /** @type {{runs: any[]}} */
  let found;
  try {
    found = await get("/api/runs");
  } catch (fault) {
    body.replaceChildren(make("p", { text: /** @type {Error} */ (fault).message }));
    return;
  }
  if (!found.runs.length) {
    body.replaceChildren(make("p", { text: "Nothing was run yet. Choose pairs, guess, and start." }));
    return;
  }
  /** @type {Set<string>} */
  const chosen = new Set();
  const compare = make("button", { type: "button", disabled: true, text: "Compare two", onclick: () => {
    dialog.close();
    showComparison([...chosen]);
  } });
  const list = found.runs.map((run) => {
    const name = make("button", { type: "button", class: "open", text: run.label, disabled: Boolean(run.fault), onclick: () => {
      dialog.close();
      open(run.run);
    } });
    const tick = make("input", { type: "checkbox", "aria-label": `Compare ${run.label}`, disabled: !run.done?.length, onchange: () => {
      if (tick.checked) chosen.add(run.run);
      else chosen.delete(run.run);
      compare.disabled = chosen.size !== 2;
    } });
    const end = run.done?.length
      ? make("a", { href: `/runs/${encodeURIComponent(run.run)}/report`, target: "_blank", rel: "noopener", text: "Report" })
      : make("span", { class: "soft", text: run.fault ? "" : "unfinished" });
    const words = run.fault ?? [run.described, run.rounded === null ? "" : `unseen right ${percent(run.rounded, 1)}`, run.guess === null ? "" : `guessed ${percent(run.guess)}`].filter(Boolean).join(" · ");
    return make("li", {}, tick, name, end, make("p", { class: "soft", text: words }));
  });
  body.replaceChildren(make("div", { class: "row" }, make("p", { class: "soft", text: "Tick two runs to set them side by side." }), compare), make("ul", { class: "runs" }, ...list));
}

/** @param {string[]} names */
async function showComparison(names) {
  const body = byId("compare-body");
  const dialog = byId("compare-dialog");
  body.replaceChildren(make("p", { class: "soft", text: "Comparing…" }));
  openDialog(dialog);
  try {
    const [compared, ...setups] = await Promise.all([
      get(`/api/compare?${new URLSearchParams(names.map((name) => ["run", name]))}`),
      ...names.map((name) => get(`/api/runs/${encodeURIComponent(name)}`)),
    ]);
    const columns = names.map((name, at) => column(name, setups[at], compared.apart[at]));
    body.replaceChildren(
      make("p", { text: difference(compared) }),
      ...(compared.alike ? [make("p", { class: "soft", text: `Both: ${compared.alike}` })] : []),
      make("div", { class: "two" }, ...columns.map((each) => each.element)),
    );
    const leaves = columns.map((each) => each.begin());
    dialog.addEventListener("close", () => leaves.forEach((leave) => leave()), { once: true });
  } catch (fault) {
    body.replaceChildren(make("p", { text: /** @type {Error} */ (fault).message }));
  }
}

/** @param {any} compared */
function difference({ comparison, fault }) {
  if (!comparison) return fault ?? "";
  const [first, second] = comparison.runs;
  const { rounded } = comparison.differences[0];
  const points = 100 * rounded.difference;
  const more = points >= 0 ? "more" : "less";
  const sure = rounded.low === null ? `no interval from fewer than three ${rounded.unit}` : `95 % interval ${decimal(100 * rounded.low, 1)} to ${decimal(100 * rounded.high, 1)} points, p = ${decimal(rounded.p_value, 3)}`;
  return `${second.run} gets ${decimal(Math.abs(points), 1)} points ${more} of unseen pairs right than ${first.run} (${sure}).`;
}

/** @param {string} name @param {import("./api.js").Setup} setup @param {string} apart */
function column(name, setup, apart) {
  const figures = make("p", { class: "verdict", text: "…" });
  const curveBox = make("div", { class: "curve" });
  const gridBox = make("div", {});
  const element = make("div", {}, make("h3", { text: setup.label ?? name }), make("p", { class: "soft", text: apart || setup.preset }), figures, curveBox, gridBox);
  const begin = () => {
    const grid = new Grid(gridBox);
    const curve = new Curve(curveBox);
    grid.show(setup, false);
    /** @type {import("./api.js").Snapshot[]} */
    let snapshots = [];
    return follow(name, setup.fold, {
      snapshots: (more) => {
        snapshots = [...snapshots, ...more];
        curve.show(snapshots, setup.epochs, setup.guess, snapshots.length - 1);
        grid.colour(snapshots[snapshots.length - 1].share);
      },
      restart: () => {
        snapshots = [];
      },
      state: ({ outcome }) => {
        if (!outcome) return;
        const seen = outcome.quadrants.seen_test;
        figures.textContent = `Unseen right ${percent(outcome.measures.rounded, 1)}${seen === undefined ? "" : `, seen right ${percent(seen, 1)}`}${setup.folds > 1 ? ` (fold ${setup.fold})` : ""}`;
      },
    });
  };
  return { element, begin };
}
