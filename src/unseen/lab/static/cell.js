// What the network makes of one pair: its pictures, its answers, and where its error comes from.

import { foldPath, get } from "./api.js";
import { byId, copy, decimal, draw, make, openDialog, percent } from "./dom.js";

/** @param {import("./api.js").Setup} setup @param {string} run @param {number} row */
export async function askCell(setup, run, row) {
  const dialog = byId("cell-dialog");
  const body = byId("cell-body");
  byId("cell-title").textContent = "Asking the network…";
  body.replaceChildren();
  openDialog(dialog);
  let cell;
  try {
    cell = await get(`${foldPath(run, setup.fold)}/cells/${row}`);
  } catch (fault) {
    byId("cell-title").textContent = "The network cannot be asked";
    body.replaceChildren(make("p", { text: /** @type {Error} */ (fault).message }));
    return;
  }
  byId("cell-title").replaceChildren(
    `${cell.title} = ${cell.answer} `,
    make("span", { class: cell.unseen ? "tag never" : "tag", text: cell.unseen ? "never seen in training" : "seen in training" }),
  );
  const where = cell.recorded ? "pictures of the test" : "pictures in test handwriting, asked just now";
  body.replaceChildren(
    make("p", {}, make("b", { text: `${percent(cell.right, 1)} right` }), ` of ${cell.samples.toLocaleString("en")} ${where}; mean answer ${decimal(cell.mean)}.`),
    make("h3", { text: "Its answers" }),
    histogram(cell),
    make("p", { class: "soft", text: `Green: what rounds to ${cell.answer}.` }),
    make("h3", { text: "Where its error comes from" }),
    parts(cell),
    ...pictures("Wrong", cell.pictures.wrong, "wrong"),
    ...pictures("Right", cell.pictures.right, "good"),
    ...command(setup),
  );
}

/** @param {any} cell */
function histogram({ histogram: { start, width, counts }, answer }) {
  const [w, h, floor] = [byId("cell-body").clientWidth || 640, 150, 122]; // in pixels, as its text is
  const most = Math.max(1, ...counts);
  const bar = w / counts.length;
  const svg = draw("svg", { class: "histogram", viewBox: `0 0 ${w} ${h}`, role: "img", "aria-label": `Distribution of the answers, from ${decimal(start, 1)} to ${decimal(start + width * counts.length, 1)}` });
  counts.forEach((/** @type {number} */ count, /** @type {number} */ at) => {
    const middle = start + (at + 0.5) * width;
    const height = (count / most) * (floor - 8);
    svg.append(draw("rect", { class: Math.abs(middle - answer) < 0.5 ? "bar hit" : "bar", x: at * bar + 0.5, y: floor - height, width: Math.max(1, bar - 1), height }, draw("title", { text: `${decimal(start + at * width)} to ${decimal(start + (at + 1) * width)}: ${count}` })));
  });
  const span = width * counts.length;
  const step = [1, 2, 5, 10, 20, 50, 100, 500, 1000, 1e4, 1e5, 1e6, 1e7].find((each) => span / each <= w / 50) ?? 1e8;
  for (let value = Math.ceil((start + 0.02 * span) / step) * step; value <= start + 0.98 * span; value += step) {
    svg.append(draw("text", { x: ((value - start) / span) * w, y: h - 8, "text-anchor": "middle", text: String(value).replace("-", "−") }));
  }
  return svg;
}

/** @type {Record<string, string>} */
const MEANINGS = {
  wrong: "all its pictures answered wrongly alike",
  misvalued: "symbols worth too much or too little, in seen pairs too",
  shift: "a shift of all answers, in seen pairs too",
  interplay: "what only certain images do together",
};

/** @param {any} cell */
function parts(cell) {
  const named = Object.entries(cell.parts);
  if (!named.length) return make("p", { class: "soft", text: "It was not split for this pair." });
  const sum = named.some(([, part]) => part === null) ? null : named.reduce((whole, [, part]) => whole + Number(part), 0);
  const most = Math.max(1e-9, ...named.map(([, part]) => Math.abs(Number(part ?? 0))));
  return make("div", {},
    make("ul", { class: "parts" }, ...named.map(([name, part]) => {
      const bar = make("span", { class: "bar" });
      bar.style.width = `${(100 * Math.max(0, Number(part ?? 0))) / most}%`;
      return make("li", { title: MEANINGS[name] ?? "what depends on the image there" }, name, bar, make("span", { class: "number", text: decimal(/** @type {number} */ (part), 3) }));
    })),
    make("p", { class: "soft", text: `Parts of its mean squared error on a few images in each place, ${decimal(sum, 3)} in all; on the pictures above it is ${decimal(cell.mse, 3)}. Misread: depends on one image. Wrong: common to all its images.` }),
  );
}

/** @param {string} title @param {{picture: string, prediction: number | null}[]} some @param {string} kind */
function pictures(title, some, kind) {
  if (!some.length) return [];
  return [
    make("h3", { text: title }),
    make("ul", { class: "pictures" }, ...some.map(({ picture, prediction }) =>
      make("li", {}, make("img", { src: picture, alt: "" }), make("span", { class: kind, text: decimal(prediction) })))),
  ];
}

/** @param {import("./api.js").Setup} setup */
function command(setup) {
  if (!setup.command) return [];
  const button = make("button", { type: "button", text: "Copy", onclick: async () => {
    await copy(/** @type {string} */ (setup.command));
    button.textContent = "Copied";
  } });
  return [make("h3", { text: "The command that repeats this run" }), make("code", { class: "command", text: setup.command }), button];
}
