// The part of a page where people draw and a network answers: one for the lab and for pages without
// a server. The page brings the network (`ask`) and what it knows about training (`wasSeen`).

import { DrawingPad, PEN_WIDTHS } from "./draw.js";
import { readPicture } from "./pictures.js";
import { SIDE, prepare, prepareRow } from "./prepare.js";

/**
 * @typedef {object} TryOptions
 * @property {number} length symbols side by side
 * @property {string[][]} symbolNames for each place, what can stand there
 * @property {(panels: Uint8Array[]) => Promise<number | null>} ask the network's answer; null if there is none now
 * @property {(chosen: number[]) => boolean | null} wasSeen whether training showed these symbols
 *   together, each by its number in symbolNames; null if that is not known
 * @property {[number, number]} range the least and the largest answer that there is
 * @property {(chosen: number[]) => number | null} [answerOf] the right answer
 * @property {(chosen: number[] | null) => void} [onChoose] called when a person says what they draw
 * @property {string[]} [placeNames] "left", "right"
 * @property {string} [symbol] what one is called: "digit"
 * @property {string} [combination] what several are called: "pair"
 * @property {string} [hint] what to do first
 */

/**
 * Put the whole part into a container.
 * @param {HTMLElement} container @param {TryOptions} options
 */
export function mountTry(container, options) {
  const { length, symbolNames, ask, wasSeen, range, answerOf = () => null, onChoose = () => {} } = options;
  const { symbol = "digit", combination = "pair" } = options;
  const placeNames = options.placeNames
    ?? (length === 2 ? ["left", "right"] : symbolNames.map((_, place) => `place ${place + 1}`));
  container.classList.add("try");
  container.style.setProperty("--columns", String(Math.min(length, 3)));

  const isSign = placeNames.map((name) => name === "sign"); // of an operation, between two symbols
  const names = placeNames.map((name, place) =>
    length === 1 ? symbol : isSign[place] ? name : name.startsWith("place") ? `${symbol} in ${name}` : `${name} ${symbol}`);
  const places = names.map((name) => makePlace(name, changed));
  const pads = places.map((place) => place.pad);
  const line = makeLine(range);
  const said = element("p", "try-said");
  const verdict = element("p", "try-verdict");
  const notice = element("p", "try-notice", { role: "alert" });
  const live = element("p", "try-live", { "aria-live": "polite" });

  const pen = element("input", "try-pen", {
    type: "range", min: PEN_WIDTHS.least, max: PEN_WIDTHS.most, step: 0.01, value: PEN_WIDTHS.usual,
  });
  pen.addEventListener("input", () => pads.forEach((pad) => pad.setPenWidth(Number(pen.value))));
  const clearAll = button("Clear all", () => pads.forEach((pad) => pad.clear()));
  const file = element("input", "try-file", { type: "file", accept: "image/*", "aria-label": "A picture to try" });
  file.addEventListener("change", () => {
    if (file.files?.[0]) takePicture(file.files[0], null);
    file.value = "";
  });

  const choices = symbolNames.map((known, place) => {
    const choice = element("select", "", { "aria-label": `What the ${names[place]} is` });
    choice.append(new Option("?", ""), ...known.map((name, at) => new Option(name, String(at))));
    choice.addEventListener("change", () => {
      onChoose(chosen());
      show();
    });
    return choice;
  });

  container.replaceChildren(
    filled("div", "try-places", ...places.map((place) => place.element)),
    filled("div", "try-tools",
      filled("label", "", "Pen ", pen), clearAll,
      filled("label", "try-picture", file, "Use a picture")),
    notice,
    filled("div", "try-answer", said, line.element),
    filled("p", "try-claim", "You drew ",
      ...choices.flatMap((choice, at) => [at ? (at === length - 1 ? " and " : ", ") : "", choice]), "."),
    verdict, live,
  );

  container.addEventListener("dragover", (event) => {
    event.preventDefault();
    container.classList.add("try-over");
  });
  for (const gone of ["dragleave", "drop"])
    container.addEventListener(gone, () => container.classList.remove("try-over"));
  container.addEventListener("drop", (event) => {
    event.preventDefault();
    const dropped = event.dataTransfer?.files[0];
    const place = places.findIndex((each) => each.element.contains(/** @type {Node} */ (event.target)));
    if (dropped) takePicture(dropped, place < 0 ? null : place);
    else showNotice("Drop a picture file here.");
  });

  /** @type {number | null} */
  let answer = null;
  let isAsking = false, isStale = false, isDue = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let toSay;

  /** Pens move more often than a screen is painted. */
  function changed() {
    if (isDue) return;
    isDue = true;
    container.dataset.state = "asking";
    requestAnimationFrame(() => {
      isDue = false;
      showNotice("");
      places.forEach((place) => place.show());
      void askAgain();
    });
  }

  /** Ask for what is drawn now; while one answer is awaited, only the latest drawing waits. */
  async function askAgain() {
    isStale = true;
    container.dataset.state = "asking";
    if (isAsking) return;
    isAsking = true;
    while (isStale) {
      isStale = false;
      const panels = pads.map((pad) => pad.pixels());
      try {
        answer = panels.every((panel) => panel !== null)
          ? await ask(/** @type {Uint8Array[]} */ (panels))
          : null;
      } catch (error) {
        answer = null;
        showNotice(error instanceof Error ? error.message : String(error));
      }
    }
    isAsking = false;
    show();
    if (!isDue) container.dataset.state = "answered";
  }

  /** @returns {number[] | null} */
  function chosen() {
    return choices.every((choice) => choice.value !== "") ? choices.map((choice) => Number(choice.value)) : null;
  }

  function show() {
    const combined = chosen();
    const right = combined && answerOf(combined);
    places.forEach((place, at) => place.ask(combined ? `draw ${symbolNames[at][combined[at]]}` : null));
    line.show(answer, right);
    const left = pads.filter((pad) => pad.isEmpty()).length;
    said.replaceChildren(...(answer === null
      ? [filled("span", "try-hint", left === length ? hint() : left ? `Now the ${emptyPlaces()}.` : isAsking ? "…" : "No answer.")]
      : [filled("strong", "", decimal(answer)), " → ", filled("strong", "try-rounded", whole(answer))]));
    verdict.replaceChildren(...verdictOf(combined, right));
    clearTimeout(toSay);
    toSay = setTimeout(() => { // for a screen reader, when the pen rests
      live.textContent = answer === null ? "" : `${decimal(answer)}, rounds to ${whole(answer)}. ${verdict.textContent}`;
    }, 700);
  }

  const hint = () => options.hint ?? (length === 1 ? `Draw a ${symbol}.` : `Draw a ${symbol} in each square.`);

  const emptyPlaces = () => names.filter((_, place) => pads[place].isEmpty()).join(" and the ");

  /** @param {number[] | null} combined @param {number | null} right @returns {(Node | string)[]} */
  function verdictOf(combined, right) {
    if (!combined) return [filled("span", "try-hint", `Say what you drew, and see whether it is right and whether training ever showed that ${combination}.`)];
    const seen = wasSeen(combined);
    const drawn = combined.map((at, place) => symbolNames[place][at]);
    const name = length === 1 ? drawn[0] : isSign.includes(true) ? drawn.join(" ") : `(${drawn.join(", ")})`;
    const parts = [];
    if (right !== null && answer !== null) {
      const isRight = whole(answer) === whole(right);
      parts.push(filled("strong", isRight ? "try-right" : "try-wrong", isRight ? "Right. " : `Wrong: it is ${whole(right)}. `));
    }
    if (seen !== null)
      parts.push(filled("span", seen ? "" : "try-never",
        seen ? `${name} was seen in training.` : `${name} was never seen in training.`));
    return parts;
  }

  /** @param {Blob} picture @param {number | null} place where it was dropped */
  async function takePicture(picture, place) {
    try {
      const image = await readPicture(picture);
      const isOne = place !== null && image.width < 1.4 * image.height;
      const found = isOne ? [prepare(image).pixels] : prepareRow(image, length);
      const missing = found.filter((pixels) => pixels === null).length;
      if (missing) {
        showNotice(found.length === 1 || missing === found.length
          ? "Nothing was found in this picture: it has to be dark ink on light paper, or light on dark."
          : `Only ${found.length - missing} of ${found.length} ${symbol}s were found: they have to stand side by side, with a gap between.`);
        return;
      }
      if (isOne) pads[place].setPicture(found[0]);
      else found.forEach((pixels, at) => pads[at].setPicture(pixels));
    } catch (error) {
      showNotice(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {string} text */
  function showNotice(text) {
    notice.textContent = text;
  }

  places.forEach((place) => place.show());
  show();
  return {
    pads,
    /** Say what is drawn, as if by the selectors. @param {number[] | null} combined */
    choose(combined) {
      choices.forEach((choice, place) => { choice.value = combined ? String(combined[place]) : ""; });
      show();
    },
    /** Ask again, because another network answers now or something else is known. */
    refresh() {
      pads.forEach((pad) => pad.redraw());
      void askAgain();
    },
  };
}

/** One square with what a network sees of it. @param {string} name @param {() => void} changed */
function makePlace(name, changed) {
  const canvas = element("canvas", "try-pad", { tabindex: 0, role: "img", "aria-label": `Square for the ${name}: draw here` });
  const seen = element("canvas", "try-seen", { width: SIDE, height: SIDE, role: "img" });
  const pad = new DrawingPad(canvas, { onChange: changed });
  const undo = button("Undo", () => pad.undo(), `Undo, ${name}`);
  const clear = button("Clear", () => pad.clear(), `Clear, ${name}`);
  const drawHere = element("span", "try-here");
  const context = /** @type {CanvasRenderingContext2D} */ (seen.getContext("2d"));
  return {
    pad,
    element: filled("div", "try-place",
      filled("div", "try-square", canvas, drawHere),
      filled("div", "try-under",
        filled("figure", "", seen, filled("figcaption", "", "what the network sees")),
        filled("div", "try-buttons", undo, clear))),
    /** Say in the empty square what to draw. @param {string | null} text */
    ask(text) {
      drawHere.textContent = text ?? name;
    },
    show() {
      const pixels = pad.pixels();
      const picture = context.createImageData(SIDE, SIDE);
      for (let at = 0; at < SIDE * SIDE; at++) {
        const grey = pixels ? pixels[at] : 0;
        picture.data.set([grey, grey, grey, 255], 4 * at);
      }
      context.putImageData(picture, 0, 0);
      seen.setAttribute("aria-label", `What the network sees of the ${name}: ${pixels ? "ink" : "nothing yet"}`);
      drawHere.hidden = !pad.isEmpty();
      undo.disabled = !pad.canUndo();
      clear.disabled = pad.isEmpty();
    },
  };
}

/** A number line with an answer on it and the number that it rounds to. @param {[number, number]} range */
function makeLine([least, largest]) {
  const low = least - 0.5, high = largest + 0.5;
  const share = (/** @type {number} */ value) =>
    `${(100 * Math.min(1, Math.max(0, (value - low) / (high - low)))).toFixed(3)}%`;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500].find((each) => (largest - least) / each <= 20)
    ?? 10 ** Math.ceil(Math.log10((largest - least) / 20));
  const marks = [];
  for (let value = Math.ceil(least / step) * step; value <= largest; value += step) {
    const mark = filled("span", "try-mark", whole(value));
    mark.style.left = share(value);
    marks.push(mark);
  }
  const band = element("span", "try-band"), right = element("span", "try-true"), point = element("span", "try-point");
  const line = filled("div", "try-line", band, ...marks, right, point);
  line.setAttribute("aria-hidden", "true"); // said in words beside it
  return {
    element: line,
    /** @param {number | null} answer @param {number | null} truth */
    show(answer, truth) {
      point.hidden = band.hidden = answer === null || !Number.isFinite(answer);
      right.hidden = truth === null;
      if (truth !== null) right.style.left = share(truth);
      if (answer === null) return;
      const rounded = Math.round(answer);
      point.style.left = share(answer);
      point.classList.toggle("try-beyond", answer < low || answer > high);
      band.style.left = share(rounded - 0.5);
      band.style.right = `calc(100% - ${share(rounded + 0.5)})`;
    },
  };
}

/** @param {number} value */
const decimal = (value) => signed(value.toFixed(2));

/** The nearest whole number, as people write it. @param {number} value */
const whole = (value) => signed(String(Math.round(value) + 0));

/** @param {string} text */
const signed = (text) => text.replace("-", "−").replace(/^−(0(\.0+)?)$/, "$1");

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {string} [classes] @param {Record<string, string | number>} [attributes]
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function element(tag, classes = "", attributes = {}) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {string} classes @param {(Node | string)[]} content
 */
function filled(tag, classes, ...content) {
  const made = element(tag, classes);
  made.append(...content);
  return made;
}

/** @param {string} text @param {() => void} press @param {string} [label] */
function button(text, press, label) {
  const made = element("button", "", { type: "button", ...(label ? { "aria-label": label } : {}) });
  made.textContent = text;
  made.addEventListener("click", press);
  return made;
}
