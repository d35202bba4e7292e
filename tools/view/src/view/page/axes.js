// Scales, ticks, and the frame of a picture: as plot/axis.rs and plot/figure.rs draw it.
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

export const place = ({ from, to, log }, number) =>
  log ? Math.log(number / from) / Math.log(to / from) : (number / 2 - from / 2) / (to / 2 - from / 2);

function ticks({ from, to, log }, most) {
  if (log) {
    const [first, last] = [Math.log10(from), Math.log10(to)];
    const step = Math.max(1, Math.ceil((last - first) / Math.max(1, most)));
    const found = [];
    for (let e = Math.ceil(first / step - 1e-9) * step; e <= last + 1e-9; e += step) found.push({ value: 10 ** e, text: `1e${e}` });
    if (found.length > 1) return found;
  }
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

// The scale of numbers; null if a logarithm has none above 0.
export function scaleOf(numbers, log, limits = [null, null]) {
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
  return { from, to, log };
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
  turned(context, name, left + 106, y + h / 2);
}
