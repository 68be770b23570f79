// A trained network in plain JavaScript: does the steps that use/graph.py wrote down.

/** @typedef {{data: Float32Array, shape: number[]}} Value */
/**
 * @typedef {object} Step
 * @property {string} do
 * @property {number[]} in
 * @property {number[]} shape
 * @property {number[]} [stride]
 * @property {number[]} [padding]
 * @property {number[]} [size]
 * @property {number[]} [strides]
 * @property {number} [offset]
 * @property {number[]} [axes]
 * @property {number} [axis]
 */
/** @typedef {{shape: number[], float16?: string, float32?: string}} Constant */
/** @typedef {{picture: number[], values: (Step | Constant)[]}} Graph */

/**
 * What a network answers: the panels' grey values from 0 to 255, side by side, become one number.
 * @param {Graph} graph @returns {(panels: ArrayLike<number>[]) => number}
 */
export function openNetwork(graph) {
  const known = graph.values.map((each) => ("do" in each ? each : decoded(each)));
  return (panels) => answer(known, sideBySide(panels, graph.picture));
}

/** The numbers of a constant, which are little-endian, as are all machines with browsers. @param {Constant} constant @returns {Value} */
function decoded({ shape, float16, float32 }) {
  const bytes = Uint8Array.from(atob(float16 ?? float32 ?? ""), (sign) => sign.charCodeAt(0)).buffer;
  return { shape, data: float16 ? Float32Array.from(new Uint16Array(bytes), fromHalf) : new Float32Array(bytes) };
}

/** A float of 16 bits, neither infinite nor NaN. @param {number} bits */
function fromHalf(bits) {
  const exponent = (bits >> 10) & 31, fraction = (bits & 1023) / 1024;
  const size = exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction;
  return bits >> 15 ? -size : size;
}

/** @param {ArrayLike<number>[]} panels @param {number[]} shape @returns {Value} */
function sideBySide(panels, shape) {
  const [height, width] = shape.slice(-2);
  const side = width / panels.length;
  const data = new Float32Array(height * width);
  panels.forEach((panel, place) => {
    for (let y = 0; y < height; y++)
      for (let x = 0; x < side; x++)
        data[y * width + place * side + x] = panel[y * side + x] / 255;
  });
  return { data, shape };
}

/** @param {(Step | Value)[]} known @param {Value} picture @returns {number} */
function answer(known, picture) {
  const values = [picture];
  for (const each of known)
    values.push("do" in each ? { data: STEPS[each.do](each, ...each.in.map((at) => values[at])), shape: each.shape } : each);
  return values[values.length - 1].data[0];
}

/** @param {number[]} shape */
const count = (shape) => shape.reduce((product, side) => product * side, 1);

/** How far it is from one number to the next along each axis. @param {number[]} shape */
const stridesOf = (shape) => shape.map((_, axis) => count(shape.slice(axis + 1)));

/**
 * Calls `visit` with the place of every number of a shape, seen through some strides.
 * @param {number[]} shape @param {number[]} strides @param {number} offset
 * @param {(to: number, from: number) => void} visit
 */
function walk(shape, strides, offset, visit) {
  const at = shape.map(() => 0);
  let from = offset;
  for (let to = 0, all = count(shape); to < all; to++) {
    visit(to, from);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis];
      if (++at[axis] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

/** @param {(value: number) => number} f @returns {(step: Step, value: Value) => Float32Array} */
const elementwise = (f) => (_, value) => value.data.map((each) => f(each));

/** @param {(a: number, b: number) => number} f @returns {(step: Step, a: Value, b: Value) => Float32Array} */
const paired = (f) => (step, a, b) => {
  const made = new Float32Array(count(step.shape));
  const left = broadcast(a, step.shape), right = broadcast(b, step.shape);
  for (let at = 0; at < made.length; at++) made[at] = f(left[at], right[at]);
  return made;
};

/** @param {Value} value @param {number[]} shape @returns {Float32Array} */
function broadcast(value, shape) {
  if (value.data.length === count(shape)) return value.data;
  const own = [...Array(shape.length - value.shape.length).fill(1), ...value.shape];
  const strides = stridesOf(own).map((stride, axis) => (own[axis] === 1 ? 0 : stride));
  const made = new Float32Array(count(shape));
  walk(shape, strides, 0, (to, from) => { made[to] = value.data[from]; });
  return made;
}

/**
 * The numbers of a value in groups, each group all that differ only along some axes.
 * @param {Value} value @param {number[]} axes @returns {number[][]} where they stand
 */
function groups(value, axes) {
  const strides = stridesOf(value.shape);
  const kept = value.shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  /** @type {number[][]} */
  const found = [];
  const pick = (/** @type {number[]} */ from, /** @type {number[]} */ some) => some.map((axis) => from[axis]);
  walk(pick(value.shape, kept), pick(strides, kept), 0, (_, start) => {
    /** @type {number[]} */
    const group = [];
    walk(pick(value.shape, axes), pick(strides, axes), start, (__, at) => group.push(at));
    found.push(group);
  });
  return found;
}

/** @param {(numbers: number[]) => number} f @returns {(step: Step, value: Value) => Float32Array} */
const reduced = (f) => (step, value) =>
  Float32Array.from(groups(value, step.axes ?? []), (group) => f(group.map((at) => value.data[at])));

/** @param {(each: number, spread: number) => number} f @returns {(step: Step, value: Value) => Float32Array} */
const normalised = (f) => (step, value) => {
  const made = new Float32Array(value.data.length);
  for (const group of groups(value, step.axes ?? [])) {
    const spread = logSumExp(group.map((at) => value.data[at]));
    for (const at of group) made[at] = f(value.data[at], spread);
  }
  return made;
};

/** @param {number[]} numbers */
const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/** @param {number[]} numbers */
function logSumExp(numbers) {
  const largest = Math.max(...numbers);
  return Number.isFinite(largest)
    ? largest + Math.log(sum(numbers.map((each) => Math.exp(each - largest))))
    : largest;
}

/** @param {Step} step @param {Value} maps @param {Value} weights @param {Value} [bias] */
function convolve(step, maps, weights, bias) {
  const [down, across] = step.stride ?? [1, 1];
  const { data, height, width } = padded(maps, step.padding ?? [0, 0]);
  const [kernels, channels, rows, columns] = weights.shape, numbers = weights.data;
  const [pictures, , high, wide] = step.shape;
  const made = new Float32Array(count(step.shape));
  const patch = new Float32Array(channels * rows * columns); // what is under a kernel
  for (let picture = 0; picture < pictures; picture++) {
    for (let place = 0; place < high * wide; place++) {
      const y = Math.floor(place / wide) * down, x = (place % wide) * across;
      for (let channel = 0, to = 0; channel < channels; channel++)
        for (let row = 0; row < rows; row++) {
          const from = ((picture * channels + channel) * height + y + row) * width + x;
          for (let column = 0; column < columns; column++) patch[to++] = data[from + column];
        }
      for (let kernel = 0; kernel < kernels; kernel++) {
        let total = bias ? bias.data[kernel] : 0;
        for (let at = 0, weight = kernel * patch.length; at < patch.length; at++, weight++)
          total += numbers[weight] * patch[at];
        made[(picture * kernels + kernel) * high * wide + place] = total;
      }
    }
  }
  return made;
}

/** @param {Value} maps @param {number[]} padding */
function padded(maps, [above, beside]) {
  const [pictures, channels, high, wide] = maps.shape;
  const height = high + 2 * above, width = wide + 2 * beside;
  if (!above && !beside) return { data: maps.data, height, width };
  const data = new Float32Array(pictures * channels * height * width);
  for (let map = 0; map < pictures * channels; map++)
    for (let y = 0; y < high; y++)
      data.set(maps.data.subarray((map * high + y) * wide, (map * high + y + 1) * wide),
        (map * height + y + above) * width + beside);
  return { data, height, width };
}

/** @param {Step} step @param {Value} maps */
function pool(step, maps) {
  const [rows, columns] = step.size ?? [1, 1], [down, across] = step.stride ?? [1, 1];
  const [height, width] = maps.shape.slice(2), [pictures, channels, high, wide] = step.shape;
  const made = new Float32Array(count(step.shape)).fill(-Infinity);
  for (let map = 0, to = 0; map < pictures * channels; map++)
    for (let y = 0; y < high; y++)
      for (let x = 0; x < wide; x++, to++)
        for (let row = 0; row < rows; row++)
          for (let column = 0; column < columns; column++) {
            const each = maps.data[(map * height + y * down + row) * width + x * across + column];
            if (each > made[to]) made[to] = each;
          }
  return made;
}

/** @param {Step} step @param {Value} value @param {Value} weights @param {Value} [bias] */
function affine(step, value, weights, bias) {
  const [rows, columns] = step.shape, [inputs] = weights.shape;
  const made = new Float32Array(rows * columns);
  const added = bias ? broadcast(bias, step.shape) : made;
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      let total = added[row * columns + column];
      for (let at = 0; at < inputs; at++)
        total += value.data[row * inputs + at] * weights.data[at * columns + column];
      made[row * columns + column] = total;
    }
  return made;
}

/** @param {Step} step @param {Value[]} values */
function join(step, ...values) {
  const axis = step.axis ?? 0;
  const made = new Float32Array(count(step.shape));
  const whole = count(step.shape.slice(axis));
  let start = 0;
  for (const value of values) {
    const part = count(value.shape.slice(axis));
    for (let from = 0, to = start; from < value.data.length; from += part, to += whole)
      made.set(value.data.subarray(from, from + part), to);
    start += part;
  }
  return made;
}

/** @type {Record<string, (step: Step, ...values: Value[]) => Float32Array>} */
const STEPS = {
  convolve, pool, affine,
  cat: join,
  same: (_, value) => value.data,
  view: (step, value) => {
    const made = new Float32Array(count(step.shape));
    walk(step.shape, step.strides ?? [], step.offset ?? 0, (to, from) => { made[to] = value.data[from]; });
    return made;
  },
  index: (_, table, places) => places.data.map((place) => table.data[place]),
  relu: elementwise((each) => Math.max(0, each)),
  tanh: elementwise(Math.tanh),
  sigmoid: elementwise((each) => 1 / (1 + Math.exp(-each))),
  silu: elementwise((each) => each / (1 + Math.exp(-each))),
  exp: elementwise(Math.exp),
  log: elementwise(Math.log),
  sqrt: elementwise(Math.sqrt),
  abs: elementwise(Math.abs),
  neg: elementwise((each) => -each),
  add: paired((a, b) => a + b),
  sub: paired((a, b) => a - b),
  mul: paired((a, b) => a * b),
  div: paired((a, b) => a / b),
  maximum: paired(Math.max),
  minimum: paired(Math.min),
  sum: reduced(sum),
  mean: reduced((numbers) => sum(numbers) / numbers.length),
  amax: reduced((numbers) => Math.max(...numbers)),
  argmax: reduced((numbers) => numbers.indexOf(Math.max(...numbers))),
  logsumexp: reduced(logSumExp),
  _softmax: normalised((each, spread) => Math.exp(each - spread)),
  _log_softmax: normalised((each, spread) => each - spread),
};
