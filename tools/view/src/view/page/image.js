// A dataset as an image of two of its dimensions.
import { besideChoice, colourChoice, columnChoice, dimensionChoices, otherDimensions, put, recordSlider, scaleControls } from "./controls.js";
import { binary } from "./kit.js";
import { isSameShape, keep, limits, now, reading, sources, watch } from "./now.js";
import { Panels } from "./panels.js";

// What the scale of numbers is made of: the least and the greatest one, and the least above 0, where a logarithmic one begins.
export function endsOf(values) {
  let [least, most, positive] = [Infinity, -Infinity, Infinity];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
    if (value > 0 && value < positive) positive = value;
  }
  return [least, most, positive].filter(Number.isFinite);
}

// What an answer means: its numbers with the first row above, and which indices these are.
function dataOf({ head, take }, ny, flip) {
  const [ys, xs] = [head.rows, head.columns];
  const values = take(Float64Array, ys.count * xs.count);
  const rows = [...Array(ys.count).keys()].map((k) => values.subarray(k * xs.count, (k + 1) * xs.count));
  if (!flip) rows.reverse();
  const ordered = new Float64Array(values.length);
  rows.forEach((row, k) => ordered.set(row, k * xs.count));
  const at = (axis) => (k) => axis.from + Math.floor(((2 * k + 1) * (axis.to - axis.from)) / (2 * axis.count));
  const bottom = flip ? ny - ys.to : ys.from;
  const isSampled = [ys, xs].some((axis) => axis.count < axis.to - axis.from);
  return { values: ordered, isSampled, nx: xs.count, ny: ys.count, index: { x: at(xs), y: at(ys) }, box: [xs.from - 0.5, xs.to - 0.5, bottom - 0.5, bottom + (ys.to - ys.from) - 0.5] };
}

export function image() {
  const alive = watch();
  const { able, all, changed: ofRecord } = sources(isSameShape);
  const panels = new Panels(all);
  const [y, x] = [now.state.rows, now.state.cols];
  const [ny, nx] = [now.item.shape[y], now.item.shape[x]];
  const [yAxis, xAxis] = [now.item.axes[y], now.item.axes[x]];
  // Upwards, unless coordinates descend: then the rows are counted from above.
  const flip = yAxis.descend;
  const up = (index) => (flip ? ny - 1 - index : index);
  const full = [-0.5, nx - 0.5, -0.5, ny - 0.5];
  let auto = [];
  const box = () => (now.state.box?.length === 4 ? now.state.box : full);
  const draw = () => {
    const [l, r, b, t] = box();
    const ratio = nx / ny;
    // In a sample, extremes may be missing.
    const label = [now.item.label, panels.first.data?.isSampled && "only some of the items"].filter(Boolean).join(", ");
    panels.draw({
      box: box(), aspect: ratio > 0.2 && ratio < 5 ? ratio : null, label, colours: now.maps[now.state.map], middle: now.state.map === "diverging", log: Boolean(now.state.log), limits: limits(), clock: now.item.clock,
      xName: xAxis.nameOf(l, r), yName: flip ? yAxis.nameOf(up(t), up(b)) : yAxis.nameOf(b, t),
      xTicks: (n) => xAxis.ticks(l, r, n),
      yTicks: (n) => (flip ? yAxis.ticks(up(t), up(b), n).map(({ at, text }) => ({ at: 1 - at, text })) : yAxis.ticks(b, t, n)),
      text: (point, words, k) => {
        const { data } = panels.first;
        const column = data.index.x(k % data.nx);
        const row = data.index.y(flip ? Math.floor(k / data.nx) : data.ny - 1 - Math.floor(k / data.nx));
        const where = (axis, at) => `${axis.name} ${axis.text(at)}`;
        return `${where(xAxis, column)}   ${where(yAxis, row)}   ${words}   [${now.item.shape.map((_, d) => (d === x ? column : d === y ? row : now.state.at[d])).join(", ")}]`;
      },
    });
  };
  // At first quickly, as a sample of a large dataset with large chunks; then as it is, unless something else was asked for meanwhile.
  const read = (thorough = null) => reading(alive, async () => {
    keep();
    const [l, r, b, t] = box();
    const clamp = (value, n) => Math.min(n, Math.max(0, value));
    const [x0, x1] = [clamp(Math.floor(l + 0.5), nx - 1), clamp(Math.ceil(r + 0.5), nx)];
    let [y0, y1] = [clamp(Math.floor(b + 0.5), ny - 1), clamp(Math.ceil(t + 0.5), ny)];
    if (flip) [y0, y1] = [ny - y1, ny - y0];
    const area = panels.first.area();
    const ratio = window.devicePixelRatio || 1;
    const isAnew = !auto.length || (x1 - x0 === nx && y1 - y0 === ny);
    const asked = { record: now.state.r, rows: y, columns: x, x0, x1, y0, y1, width: Math.round(area[2] * ratio), height: Math.round(area[3] * ratio), fixed: now.state.at.join(","), thorough };
    const found = await Promise.all(all.map((source) => binary("plane", { ...source, ...asked })));
    if (!alive()) return;
    const datas = found.map((one) => dataOf(one, ny, flip));
    if (datas.some(({ nx: n, ny: m }) => n !== datas[0].nx || m !== datas[0].ny)) throw new Error("no difference: the chunks of the files differ much; zoom in, or choose nothing beside it");
    if (isAnew) auto = datas.map(({ values }) => endsOf(values));
    datas.forEach((data, k) => (data.auto = auto[k]));
    panels.put(datas, isAnew);
    draw();
    if (!thorough && found.some(({ head }) => head.coarse)) read(1);
  });
  const changed = () => { draw(); read(); };
  now.shown = windowed(panels, () => box(), full, (next) => { now.state.box = next; changed(); }, draw);
  const again = () => { auto = []; read(); };
  put(dimensionChoices(["rows", "cols"]), columnChoice(), recordSlider(ofRecord(again)), otherDimensions([y, x], again), colourChoice(), scaleControls(), besideChoice(able));
  now.shown.read = () => read();
  read();
}

// Moves and zooms a window over a picture.
function windowed(panels, box, full, set, draw) {
  const zoom = (by, point) => {
    const [l, r, b, t] = box();
    const [px, py] = point ?? [(l + r) / 2, (b + t) / 2];
    const next = [px + (l - px) * by, px + (r - px) * by, py + (b - py) * by, py + (t - py) * by];
    // Not nearer than a part of an item, nor farther than all.
    if (next[1] - next[0] < 2 || next[3] - next[2] < 2) return;
    if (next[1] - next[0] >= full[1] - full[0] || next[3] - next[2] >= full[3] - full[2]) set(null);
    else set(inside(next, full));
  };
  const move = (x, y, from = box()) => set(inside([from[0] + x, from[1] + x, from[2] + y, from[3] + y], full));
  panels.listen({ zoomed: zoom, moved: (x, y, drag) => move(x, y, drag.box), all: () => set(null) });
  return { panels, picture: panels.first, draw, all: () => set(null), zoom, move: (x, y) => { const [l, r, b, t] = box(); move(x * (r - l), y * (t - b)); } };
}

function inside(box, full) {
  const shift = (low, high, from, to) => (low < from ? from - low : high > to ? to - high : 0);
  const [x, y] = [shift(box[0], box[1], full[0], full[1]), shift(box[2], box[3], full[2], full[3])];
  return [box[0] + x, box[1] + x, box[2] + y, box[3] + y];
}
