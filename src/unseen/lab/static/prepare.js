// From a drawing or a picture to the 28 × 28 grey values that a network was trained on.
//
// MNIST's digits were cropped to their ink, scaled into 20 × 20 with their aspect kept, and centred
// by mass in 28 × 28. Here their strokes also get a width as MNIST's have, whatever pen drew them.

/** @typedef {{x: number, y: number}} Point */
/** @typedef {{width: number, height: number, data: ArrayLike<number>}} Picture RGBA, row by row */
/** @typedef {{width: number, height: number, data: Float32Array}} Grey row by row */
/** @typedef {Grey & {pieces: number}} Ink from 0 to 1, and how many pieces of it hang together */
/** @typedef {(x: number, y: number) => number} Field pixels into the ink, negative outside of it */

export const SIDE = 28;
const MIDDLE = 14; // the pixel that MNIST's centres of mass are at, counted from 0
const BOX = 20; // pixels that the longer side of a symbol takes
const THINNEST = 2.0, THICKEST = 3.4; // strokes of MNIST's digits in that box, in pixels
const FINE = 60; // samples along the longer side of a picture's symbol, while its strokes are measured
const MOST_ROWS = 160; // of a picture; more are averaged
const LEAST_CONTRAST = 24; // of 255
const NARROWEST = 0.6; // of each symbol of a row without gaps, by the height of the row
const LEAST_PART = 0.05; // of the ink: what is smaller is dust

/**
 * A drawing as a network takes it; null if there is none.
 * @param {Point[][]} strokes @param {number} penWidth in the points' own unit
 * @returns {Uint8Array | null}
 */
export function prepareStrokes(strokes, penWidth) {
  let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
  for (const { x, y } of strokes.flat())
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  if (right < left) return null;
  const longer = Math.max(right - left, bottom - top);
  const stroke = within(penWidth * BOX / (longer + penWidth), THINNEST, THICKEST);
  const scale = (BOX - stroke) / Math.max(longer, penWidth); // a dot stays one
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  const pieces = strokes.flatMap((stroke) => {
    const line = thinned(stroke.map(({ x, y }) => ({ x: (x - middle.x) * scale, y: (y - middle.y) * scale })));
    return line.map((point, at) => [point, line[at + 1] ?? point]);
  });
  return centred((x, y) => {
    let nearest = Infinity;
    for (const [from, to] of pieces) nearest = Math.min(nearest, squaredDistance(x, y, from, to));
    return stroke / 2 - Math.sqrt(nearest);
  });
}

/**
 * The picture of one symbol as a network takes it; null if there is no ink in it.
 * @param {Picture} picture
 * @returns {{pixels: Uint8Array | null}}
 */
export function prepare(picture) {
  return { pixels: prepareInk(inkOf(picture)) };
}

/**
 * The symbols of a picture that has several in a row, each as a network takes it; null for each that
 * is not found.
 * @param {Picture} picture @param {number} length
 * @returns {(Uint8Array | null)[]}
 */
export function prepareRow(picture, length) {
  if (picture.height === SIDE && picture.width === length * SIDE) return panelsOf(picture, length);
  const ink = inkOf(picture);
  if (!ink) return Array(length).fill(null);
  const cuts = cutsBetween(ink, length);
  const found = cuts.slice(1).map((cut, place) => prepareInk(cropped(ink, cuts[place], cut, 0, ink.height)));
  return [...found, ...Array(length - found.length).fill(null)];
}

/** A line without points that are too near to each other to make a difference. @param {Point[]} line */
function thinned(line) {
  /** @type {Point[]} */
  const kept = [];
  line.forEach((point, at) => {
    const last = kept[kept.length - 1];
    if (!last || at === line.length - 1 || Math.hypot(point.x - last.x, point.y - last.y) > 0.3) kept.push(point);
  });
  return kept;
}

/** Panels of a picture that has the right size already. @param {Picture} picture @param {number} length */
function panelsOf(picture, length) {
  const grey = lightOnDark(greyOf(picture));
  return Array.from({ length }, (_, place) =>
    Uint8Array.from(cropped(grey, place * SIDE, (place + 1) * SIDE, 0, SIDE).data, Math.round));
}

/** @param {number} value @param {number} low @param {number} high */
const within = (value, low, high) => Math.min(high, Math.max(low, value));

/** From a point to a line between two others. @param {number} x @param {number} y @param {Point} from @param {Point} to */
function squaredDistance(x, y, from, to) {
  const dx = to.x - from.x, dy = to.y - from.y;
  const along = dx || dy ? within(((x - from.x) * dx + (y - from.y) * dy) / (dx * dx + dy * dy), 0, 1) : 0;
  return (x - from.x - along * dx) ** 2 + (y - from.y - along * dy) ** 2;
}

/**
 * A symbol around (0, 0) in 28 × 28, its centre of mass in the middle.
 * @param {Field} field @returns {Uint8Array}
 */
function centred(field) {
  const first = drawn(field, 0, 0);
  let mass = 0, x = 0, y = 0;
  first.forEach((grey, at) => {
    mass += grey;
    x += grey * ((at % SIDE) - MIDDLE);
    y += grey * (Math.floor(at / SIDE) - MIDDLE);
  });
  const room = (SIDE - BOX) / 2; // so that nothing leaves the picture
  return drawn(field, within(x / mass, -room, room), within(y / mass, -room, room));
}

/** @param {Field} field @param {number} x @param {number} y what comes to stand in the middle */
function drawn(field, x, y) {
  return Uint8Array.from({ length: SIDE * SIDE }, (_, at) => {
    const inside = field((at % SIDE) - MIDDLE + x, Math.floor(at / SIDE) - MIDDLE + y);
    return Math.round(255 * within(0.5 + inside, 0, 1));
  });
}

/**
 * How much ink there is, from 0 to 1, whether it is light on dark or dark on light, and whether or
 * not the paper is lit evenly; null if there is none.
 * @param {Picture} picture @returns {Ink | null}
 */
function inkOf(picture) {
  const grey = lightOnDark(shrunk(greyOf(picture)));
  const { width, height, data } = grey;
  const reach = Math.ceil(height / 6); // half of what no stroke is wider than
  const ground = extremes(extremes(grey, reach, Math.min), reach, Math.max);
  const ink = data.map((each, at) => each - ground.data[at]);
  const full = shareOf(ink.filter((each) => each > LEAST_CONTRAST), 0.5);
  if (!full) return null;
  return withoutDust({ width, height, data: ink.map((each) => within(each / full, 0, 1)) });
}

/** A picture turned round if its frame is lighter than what is in it. @param {Grey} grey @returns {Grey} */
function lightOnDark({ width, height, data }) {
  const frame = data.filter((_, at) => {
    const x = at % width, y = Math.floor(at / width);
    return !x || !y || x === width - 1 || y === height - 1;
  });
  const paper = shareOf(frame, 0.5), dark = shareOf(data, 0.01), light = shareOf(data, 0.99);
  return { width, height, data: paper - dark > light - paper ? data.map((each) => 255 - each) : data };
}

/** @param {Picture} picture @returns {Grey} */
function greyOf({ width, height, data }) {
  const made = new Float32Array(width * height);
  for (let at = 0; at < made.length; at++) {
    const [red, green, blue, opacity] = [0, 1, 2, 3].map((channel) => data[4 * at + channel]);
    const light = 0.299 * red + 0.587 * green + 0.114 * blue;
    made[at] = (light * opacity + 255 * (255 - opacity)) / 255; // as if on white paper
  }
  return { width, height, data: made };
}

/** At most so many rows, each pixel the mean of those that it stands for. @param {Grey} grey @returns {Grey} */
function shrunk(grey) {
  const factor = Math.ceil(grey.height / MOST_ROWS);
  const width = Math.max(1, Math.floor(grey.width / factor)), height = Math.max(1, Math.floor(grey.height / factor));
  const data = new Float32Array(width * height);
  for (let y = 0; y < height * factor; y++)
    for (let x = 0; x < width * factor; x++)
      data[Math.floor(y / factor) * width + Math.floor(x / factor)] += grey.data[y * grey.width + x] / factor ** 2;
  return { width, height, data };
}

/** The number that a share of all numbers is below. @param {Float32Array} numbers @param {number} share */
const shareOf = (numbers, share) =>
  numbers.slice().sort()[Math.min(numbers.length - 1, Math.floor(share * numbers.length))];

/**
 * The smallest or the largest number within reach, along rows and columns.
 * @param {Grey} grey @param {number} reach @param {(a: number, b: number) => number} choose @returns {Grey}
 */
function extremes({ width, height, data }, reach, choose) {
  const along = (/** @type {Float32Array} */ from, /** @type {number} */ step, /** @type {number} */ length) =>
    from.map((each, at) => {
      const place = Math.floor(at / step) % length;
      let found = each;
      for (let by = -Math.min(reach, place); by <= Math.min(reach, length - 1 - place); by++)
        found = choose(found, from[at + by * step]);
      return found;
    });
  return { width, height, data: along(along(data, 1, width), width, height) };
}

/** @param {Grey} ink @returns {Ink} */
function withoutDust(ink) {
  const { width, data } = ink;
  const isInk = data.map((each) => Number(each >= 0.5));
  const part = new Int32Array(data.length); // of what piece of ink each pixel is; 0 is none
  /** @type {number[]} */
  const sizes = [0];
  for (let start = 0; start < data.length; start++) {
    if (!isInk[start] || part[start]) continue;
    const piece = sizes.length;
    let size = 0;
    const left = [start];
    part[start] = piece;
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      size++;
      const x = at % width;
      for (const next of [x ? at - 1 : -1, x < width - 1 ? at + 1 : -1, at - width, at + width])
        if (isInk[next] && !part[next]) {
          part[next] = piece;
          left.push(next);
        }
    }
    sizes.push(size);
  }
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  const isDust = sizes.map((size) => size < LEAST_PART * whole); // as are the pixels of no piece
  const pieces = isDust.filter((dust) => !dust).length;
  return { ...ink, pieces, data: data.map((each, at) => (part[at] && isDust[part[at]] ? 0 : each)) };
}

/**
 * Where to cut a row of symbols, both ends included: into equal parts, unless that cuts through ink
 * and there are gaps between the symbols. There are fewer cuts where fewer symbols are seen: ink
 * without gaps that is too narrow for the row, or in too few pieces.
 * @param {Ink} ink @param {number} length @returns {number[]}
 */
function cutsBetween({ width, height, data, pieces }, length) {
  const columns = Array.from({ length: width }, (_, x) => {
    for (let y = 0; y < height; y++) if (data[y * width + x] >= 0.5) return true;
    return false;
  });
  const equal = Array.from({ length: length + 1 }, (_, cut) => Math.round((cut * width) / length));
  const parts = equal.slice(1).map((cut, place) => columns.slice(equal[place], cut));
  const isClear = equal.slice(1, -1).every((cut) => !columns[cut - 1] || !columns[cut]);
  if (isClear && parts.every((part) => part.includes(true))) return equal;
  /** @type {{middle: number, size: number}[]} */
  const gaps = [];
  let last = columns.indexOf(true);
  columns.forEach((inked, x) => {
    if (!inked || last < 0) return;
    if (x - last > 1) gaps.push({ middle: Math.round((x + last) / 2), size: x - last });
    last = x;
  });
  const rows = Array.from({ length: height }, (_, y) => data.subarray(y * width, (y + 1) * width).some((each) => each >= 0.5));
  const extent = (/** @type {boolean[]} */ inked) => inked.lastIndexOf(true) - inked.indexOf(true) + 1;
  const isNarrow = extent(columns) < NARROWEST * length * extent(rows);
  if (gaps.length < length - 1 && !isNarrow && pieces >= length) return equal;
  const widest = gaps.sort((one, other) => other.size - one.size).slice(0, length - 1);
  return [0, ...widest.map((gap) => gap.middle).sort((one, other) => one - other), width];
}

/** @param {Grey} grey @param {number} left @param {number} right @param {number} top @param {number} bottom @returns {Grey} */
function cropped(grey, left, right, top, bottom) {
  const width = right - left, height = bottom - top;
  const data = new Float32Array(width * height);
  for (let y = 0; y < height; y++)
    data.set(grey.data.subarray((top + y) * grey.width + left, (top + y) * grey.width + right), y * width);
  return { width, height, data };
}

/** @param {Grey | null} ink @returns {Uint8Array | null} */
function prepareInk(ink) {
  let left = Infinity, right = -1, top = Infinity, bottom = -1;
  ink?.data.forEach((each, at) => {
    if (each < 0.5) return;
    const x = at % ink.width, y = Math.floor(at / ink.width);
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
  });
  if (!ink || right < 0) return null;
  const longer = Math.max(right - left, bottom - top) + 1;
  const step = longer / FINE; // pixels of the picture between two samples
  // samples of the crop with an empty margin, which strokes may grow into
  const margin = FINE / 4, side = FINE + 2 * margin;
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  const at = (/** @type {number} */ sample) => (sample + 0.5 - side / 2) * step;
  const isInk = Uint8Array.from({ length: side * side }, (_, which) =>
    Number(between(ink, middle.x + at(which % side), middle.y + at(Math.floor(which / side))) >= 0.5));
  const inside = distances(isInk, side, 0), outside = distances(isInk, side, 1);
  let area = 0, depth = 0;
  isInk.forEach((inked, which) => {
    area += inked;
    depth += inked * (inside[which] - 0.5);
  });
  const measured = (4 * depth) / area; // a stroke is a quarter of its width deep, in the mean
  const stroke = within((measured * BOX) / FINE, THINNEST, THICKEST);
  const scale = Math.min((BOX - stroke) / Math.max(FINE - measured, 1), (2 * BOX) / FINE);
  const data = inside.map((each, which) => (isInk[which] ? each - 0.5 : 0.5 - outside[which]));
  const depths = { width: side, height: side, data };
  return centred((x, y) =>
    scale * (between(depths, x / scale + (side - 1) / 2, y / scale + (side - 1) / 2) - measured / 2) + stroke / 2);
}

/** Between four pixels, in proportion; beyond the edge as on it. @param {Grey} grey @param {number} x @param {number} y */
function between({ width, height, data }, x, y) {
  const column = within(Math.floor(x), 0, Math.max(0, width - 2)), row = within(Math.floor(y), 0, Math.max(0, height - 2));
  const right = Math.min(column + 1, width - 1), below = Math.min(row + 1, height - 1);
  const across = within(x - column, 0, 1), down = within(y - row, 0, 1);
  return (data[row * width + column] * (1 - across) + data[row * width + right] * across) * (1 - down)
    + (data[below * width + column] * (1 - across) + data[below * width + right] * across) * down;
}

/**
 * From every pixel of a square to the nearest one that is `wanted`.
 * @param {Uint8Array} isInk @param {number} side @param {number} wanted
 */
function distances(isInk, side, wanted) {
  const far = 4 * side * side;
  const along = new Float32Array(side * side); // squared, within the row
  for (let y = 0; y < side; y++)
    for (let x = 0; x < side; x++) {
      let nearest = far;
      for (let other = 0; other < side; other++)
        if (isInk[y * side + other] === wanted) nearest = Math.min(nearest, (x - other) ** 2);
      along[y * side + x] = nearest;
    }
  return along.map((_, at) => {
    const x = at % side, y = Math.floor(at / side);
    let nearest = far;
    for (let other = 0; other < side; other++) nearest = Math.min(nearest, along[other * side + x] + (y - other) ** 2);
    return Math.sqrt(nearest);
  });
}
