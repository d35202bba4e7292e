// Lines: along a dimension, and over records.
import { Coordinates, frame, nameOf, place, placed, scaleOf, told } from "./axes.js";
import { besideChoice, columnChoice, dimensionChoices, otherDimensions, put, recordSlider, scaleControls } from "./controls.js";
import { binary, el, fitted } from "./kit.js";
import { base, entry, fileName, isSameShape, keep, limits, now, pointer, reading, sources, stage, watch } from "./now.js";
import { colourOf, curve, legend } from "./picture.js";

// Lines: of each file, an axis, the ends of its indices; and the differences of the others with the first.
function plot(read, axis, full, label, parts, { able, all, changed }) {
  const alive = watch();
  const canvas = el("canvas");
  stage.replaceChildren(canvas);
  const names = all.map(({ file }) => fileName(file));
  let curves = [];
  let differences = [];
  let area = [0, 0, 1, 1];
  let up = null;
  const ends = () => (now.state.box?.length === 2 ? now.state.box : full);
  const draw = () => {
    const { context, width, height } = fitted(canvas);
    const parted = all.length > 1;
    const high = parted ? (height - 24) * 0.62 - 48 : height - 12 - 48;
    area = [100, 12, width - 100 - 24, high];
    const [from, to] = ends();
    const [first, last] = [axis.value(from), axis.value(to)];
    const numbers = curves.flatMap((points) => Array.from(points.numbers));
    up = scaleOf(numbers, Boolean(now.state.log), limits(), now.item.clock) ?? scaleOf(numbers, false, limits(), now.item.clock);
    if (!up.log && limits().every((end) => end === null)) {
      const margin = (up.to - up.from) / 25;
      up = { ...up, from: up.from - margin, to: up.to + margin };
    }
    const across = placed(axis.scale(from, to), area[2] / 90);
    const name = axis.nameOf(from, to);
    if (first > last) across.forEach((tick) => (tick.at = 1 - tick.at));
    frame(context, area, across, name, placed(up, area[3] / 50), nameOf(up, label), true);
    const line = (points, area, up, colour) => curve(context, area, Array.from(points.indices, (index, k) => [(axis.value(index) - first) / (last - first), place(up, points.numbers[k])]), colour);
    curves.forEach((points, n) => line(points, area, up, colourOf(n)));
    if (parted) {
      legend(context, area, names);
      const under = [area[0], area[1] + high + 60, area[2], Math.max(40, height - area[1] - high - 60 - 48)];
      const apart = scaleOf(differences.flatMap((points) => Array.from(points.numbers)), false);
      frame(context, under, across, name, placed(apart, under[3] / 40), `minus ${names[0]}`, true);
      differences.forEach((points, n) => line(points, under, apart, colourOf(n + 1)));
    }
    if (curves.some((points) => points.sampled)) pointer.textContent = "only some of the items are drawn: there are too many; zoom in to see all";
  };
  const fetchNow = () => reading(alive, async () => {
    keep();
    const width = Math.round(area[2]) || 800;
    const [found, apart] = await Promise.all([
      Promise.all(all.map((source) => read(source, ends(), width))),
      Promise.all(all.slice(1).map(({ file }) => read({ ...all[0], minus: file }, ends(), width))),
    ]);
    if (!alive()) return;
    [curves, differences] = [found, apart];
    Object.assign(now.shown, { points: found[0], curves, differences });
    draw();
  });
  const set = (next) => { now.state.box = next; draw(); fetchNow(); };
  const zoom = (by, at) => {
    const [from, to] = ends();
    const middle = at ?? (from + to) / 2;
    let [a, b] = [middle + (from - middle) * by, middle + (to - middle) * by];
    if (b - a < 1) return;
    [a, b] = [Math.max(full[0], a), Math.min(full[1], b)];
    set(a === full[0] && b === full[1] ? null : [a, b]);
  };
  const move = (x) => {
    const [from, to] = ends();
    const by = Math.max(full[0] - from, Math.min(full[1] - to, x * (to - from)));
    set([from + by, to + by]);
  };
  const index = (event) => {
    const [from, to] = ends();
    const part = (event.clientX - canvas.getBoundingClientRect().left - area[0]) / area[2];
    const [first, last] = [axis.value(from), axis.value(to)];
    return axis.index(first + part * (last - first));
  };
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, ends: ends() }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => (drag = null));
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      const [from, to] = drag.ends;
      const by = Math.max(full[0] - from, Math.min(full[1] - to, (-(event.clientX - drag.x) / area[2]) * (to - from)));
      if (by) set([from + by, to + by]);
    }
    if (!curves[0]?.indices.length) return;
    const at = index(event);
    const nearest = ({ indices }) => indices.reduce((k, candidate, j) => (Math.abs(candidate - at) < Math.abs(indices[k] - at) ? j : k), 0);
    const found = curves.map((points) => ({ points, k: nearest(points) }));
    const words = found.map(({ points, k }, n) => `${all.length > 1 ? names[n] : "value"} ${told(now.item.clock, points.numbers[k])}`);
    const shown = curves[0].indices[found[0].k];
    pointer.textContent = `${axis.name} ${axis.text(shown)}   ${words.join("   ")}   [${shown}]`;
  });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(1.0015 ** event.deltaY, index(event)); }, { passive: false });
  canvas.addEventListener("dblclick", () => set(null));
  now.shown = { draw, all: () => set(null), zoom: (by) => zoom(by), move, canvas, read: fetchNow };
  put(columnChoice(), parts(changed(fetchNow), fetchNow), scaleControls(), besideChoice(able));
  draw();
  fetchNow();
}

const takeLine = ({ head, take }) => ({ indices: take(Float64Array, head.count), numbers: take(Float64Array, head.count), sampled: head.sampled });

export function line() {
  const n = now.item.shape[now.state.cols];
  const read = async (source, [from, to], width) => takeLine(await binary("line", {
    ...source, record: now.state.r, columns: now.state.cols, x0: Math.max(0, Math.floor(from)), x1: Math.min(n, Math.ceil(to) + 1), width, fixed: now.state.at.join(","),
  }));
  const parts = (ofRecord, again) => [dimensionChoices(["cols"]), recordSlider(ofRecord), otherDimensions([now.state.cols], again)];
  plot(read, now.item.axes[now.state.cols], [0, Math.max(1, n - 1)], now.item.label, parts, sources(isSameShape));
}

export function records() {
  const axis = new Coordinates({ name: "record", indices: [0, 1], values: [0, 1] });
  const read = async (source) => takeLine(await binary("records", { ...source, fixed: now.state.at.join(",") }));
  plot(read, axis, [0, Math.max(1, entry().records - 1)], now.item.label, (_, again) => otherDimensions([], again), { able: [], all: [base()], changed: (again) => again });
}
