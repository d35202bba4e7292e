// Scales, ticks, coordinates, and the frame of a picture: as plot/axis.rs and plot/figure.rs draw it.
import { dateTicks, dayBetween, moment } from "./dates.js";
import { style } from "./kit.js";

export function textOf(number, step) {
  if (!Number.isFinite(number)) return String(number);
  const size = Math.max(Math.abs(number), step);
  if (number === 0 || size === 0) return "0";
  step = step > 0 ? step : size / 1e4;
  const digits = (power) => Math.min(17, Math.max(0, -power));
  if (size >= 1e-4 && size < 1e6) return number.toFixed(digits(Math.floor(Math.log10(step) + 1e-9)));
  return number.toExponential(digits(Math.floor(Math.log10(step) + 1e-9) - Math.floor(Math.log10(size)))).replace("e+", "e");
}

// A number as it is told: as a moment, if there is a clock.
export const told = (clock, number) => (clock ? moment(clock, number) : null) ?? String(number);

// The name of the axis of a scale, with the day if it is one, which the ticks do not tell.
export function nameOf({ from, to, clock }, name) {
  const day = clock ? dayBetween(clock, from, to) : null;
  return day ? `${name}, ${day}` : name;
}

export const place = ({ from, to, log }, number) =>
  log ? Math.log(number / from) / Math.log(to / from) : (number / 2 - from / 2) / (to / 2 - from / 2);

export function ticks({ from, to, log, clock }, most) {
  if (log) {
    const [first, last] = [Math.log10(from), Math.log10(to)];
    const step = Math.max(1, Math.ceil((last - first) / Math.max(1, most)));
    const found = [];
    for (let e = Math.ceil(first / step - 1e-9) * step; e <= last + 1e-9; e += step) found.push({ value: 10 ** e, text: `1e${e}` });
    if (found.length > 1) return found;
  }
  const dates = clock ? dateTicks(clock, from, to, most) : null;
  if (dates) return dates;
  const room = (to - from) / Math.max(1, most);
  if (!(room > 0) || !Number.isFinite(room)) return [{ value: from, text: textOf(from, 0) }];
  const power = 10 ** Math.floor(Math.log10(room));
  const step = ([1, 2, 5, 10].find((n) => n * power >= room * 0.999) ?? 10) * power;
  const found = [];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + step * 1e-9 && found.length < 100; ++n) {
    found.push({ value: n * step, text: textOf(n * step, step) });
  }
  return found;
}

// The scale of numbers, or of moments by a clock; null if a logarithm has none above 0.
export function scaleOf(numbers, log, limits = [null, null], clock = null) {
  let [from, to] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (Number.isFinite(number) && (!log || number > 0)) {
      if (number < from) from = number;
      if (number > to) to = number;
    }
  }
  from = limits[0] ?? from;
  to = limits[1] ?? to;
  if (log && !(from > 0 && Number.isFinite(to))) return null;
  if (!Number.isFinite(from) || !Number.isFinite(to)) [from, to] = [0, 1];
  if (to <= from) {
    const margin = from === 0 ? 1 : Math.abs(from) / 10;
    [from, to] = log ? [from / 2, from * 2] : [from - margin, from + margin];
  }
  return { from, to, log, clock };
}

function between(numbers, values, at) {
  let [low, high] = [1, numbers.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < at) low = middle + 1;
    else high = middle;
  }
  const part = (at - numbers[low - 1]) / (numbers[low] - numbers[low - 1]);
  return values[low - 1] + part * (values[low] - values[low - 1]);
}

// A dimension as an axis: some indices, and the coordinate of each.
export class Coordinates {
  constructor({ name, indices, values, clock = null }) {
    Object.assign(this, { name, indices, values, clock });
    this.descend = values[0] > values[1];
    this.sign = this.descend ? -1 : 1;
    this.ascending = values.map((value) => value * this.sign);
  }
  value(index) {
    return between(this.indices, this.values, index);
  }
  index(value) {
    return between(this.ascending, this.indices, value * this.sign);
  }
  scale(from, to) {
    const [a, b] = [this.value(from), this.value(to)];
    return { from: Math.min(a, b), to: Math.max(a, b), clock: this.clock };
  }
  nameOf(from, to) {
    return nameOf(this.scale(from, to), this.name);
  }
  // The ticks of indices, at places from 0 to 1.
  ticks(from, to, most) {
    return ticks(this.scale(from, to), most).map(({ value, text }) => ({ at: (this.index(value) - from) / (to - from), text }));
  }
  // In as many digits as tell neighbours from each other.
  text(index) {
    const value = this.value(index);
    if (this.clock) return told(this.clock, value);
    return textOf(value, Math.abs(this.value(index + 1) - value) / 10);
  }
}

export const placed = (scale, most) => ticks(scale, most).map(({ value, text }) => ({ at: place(scale, value), text }));

// The frame with ticks and names.
export function frame(context, [x, y, w, h], across, xName, upwards, yName, grid) {
  const [ink, soft, line] = [style("--ink"), style("--soft"), style("--line")];
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  const stroke = (colour, ...points) => {
    context.strokeStyle = colour;
    context.beginPath();
    points.forEach(([px, py], k) => (k ? context.lineTo(px, py) : context.moveTo(px, py)));
    context.stroke();
  };
  const isIn = ({ at }) => at >= -1e-9 && at <= 1 + 1e-9;
  context.fillStyle = ink;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { at, text } of across.filter(isIn)) {
    const px = x + at * w;
    if (grid) stroke(line, [px, y], [px, y + h]);
    stroke(ink, [px, y + h], [px, y + h + 4]);
    context.fillText(text, px, y + h + 14);
  }
  context.textAlign = "right";
  for (const { at, text } of upwards.filter(isIn)) {
    const py = y + h - at * h;
    if (grid) stroke(line, [x, py], [x + w, py]);
    stroke(ink, [x - 4, py], [x, py]);
    context.fillText(text, x - 7, py);
  }
  context.strokeStyle = ink;
  context.strokeRect(x, y, w, h);
  context.fillStyle = soft;
  context.textAlign = "center";
  context.fillText(xName, x + w / 2, y + h + 33);
  turned(context, yName, 12, y + h / 2);
}

export function turned(context, text, x, y) {
  context.save();
  context.fillStyle = style("--soft");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}

// The bar of colours.
export function bar(context, [x, y, w, h], colours, scale, name) {
  const left = x + w + 16;
  for (let row = 0; row < h; ++row) {
    const [r, g, b] = colours[Math.min(255, Math.floor((1 - (row + 0.5) / h) * 256))];
    context.fillStyle = `rgb(${r},${g},${b})`;
    context.fillRect(left, y + row, 16, 1.5);
  }
  context.strokeStyle = style("--ink");
  context.strokeRect(left, y, 16, h);
  context.fillStyle = style("--ink");
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { at, text } of placed(scale, Math.max(4, h / 50))) {
    if (at < -1e-9 || at > 1 + 1e-9) continue;
    const py = y + h - at * h;
    context.beginPath();
    context.moveTo(left + 16, py);
    context.lineTo(left + 20, py);
    context.stroke();
    context.fillText(text, left + 23, py);
  }
  turned(context, nameOf(scale, name), left + 106, y + h / 2);
}
