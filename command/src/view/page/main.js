// What is shown, and how it is chosen. The state is in the address, behind #.
import { ask, binary, el, fitted, latest } from "./kit.js";
import { Coordinates, frame, place, placed, scaleOf, textOf } from "./axes.js";
import { Picture, curve } from "./images.js";
import { bytes, table } from "./tables.js";
import { Tree } from "./tree.js";

const byId = (id) => document.getElementById(id);
const [stage, below, pointer, controls, about] = ["stage", "below", "pointer", "controls", "about"].map(byId);
let files, maps, tree;
// f, i: the file and the line of its catalogue. r: record. v: how it is shown. rows, cols: dimensions. at: the indices of all.
let state = {};
let item = null;
// What is on the screen: draw(), all(), zoom(by), move(x, y).
let shown = null;

const failed = (error) => {
  shown = null;
  stage.replaceChildren(el("div", { class: "trouble", role: "alert" }, error.message));
};
const run = latest(failed);
// Counts what is shown: what was asked for before it is of no interest.
let viewing = 0;
function watch() {
  const mine = ++viewing;
  return () => mine === viewing;
}
const reading = (alive, task) => run(async () => {
  try {
    if (alive()) await task();
  } catch (error) {
    if (alive()) throw error;
  }
});

// ---- the state in the address
function keep() {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value !== null && value !== undefined && value !== "") query.set(key, Array.isArray(value) ? value.join(",") : value);
  history.replaceState(null, "", `#${query}`);
}
function restored(hash) {
  const found = {};
  for (const [key, value] of new URLSearchParams(hash.slice(1))) {
    if (["at", "box", "camera"].includes(key)) found[key] = value.split(",").map(Number);
    else if (["v", "map"].includes(key)) found[key] = value;
    else found[key] = Number(value);
  }
  return found;
}

const entry = () => files[state.f].entries[state.i];
const base = () => ({ file: state.f, item: state.i, record: state.r });
const limits = () => [state.lo ?? null, state.hi ?? null];

// ---- choosing
async function choose(f, i, given = {}) {
  const before = item && state.f !== undefined ? entry() : null;
  state = { f, i, r: 0, map: state.map ?? "viridis", ...given };
  const now = entry();
  if (!given.r && before && before.records === now.records && state.lastRecord) state.r = Math.min(state.lastRecord, now.records - 1);
  tree.mark({ f, i });
  shown = null;
  ++viewing;
  byId("title").textContent = now.name;
  byId("facts").textContent = `${now.kind}, section ${now.number}${now.words ? `: ${now.words}` : ""}`;
  document.title = `${now.name} – scda view`;
  below.replaceChildren();
  pointer.textContent = "";
  await load(given);
}

async function load(given = {}) {
  const now = entry();
  const found = await ask("item", base());
  // Something else was chosen meanwhile.
  if (now !== entry()) return;
  item = found;
  const views = [];
  const n = item.shape?.length ?? 0;
  if (now.kind === "group" && now.mesh) views.push("mesh");
  if (now.kind === "dataset" && !item.unreadable) {
    const wide = item.shape.map((count, d) => [count, d]).filter(([count]) => count > 1).map(([, d]) => d);
    state.at = given.at?.length === n ? given.at : item.shape.map(() => 0);
    state.cols = given.cols ?? wide[wide.length - 1] ?? n - 1;
    state.rows = given.rows ?? wide[wide.length - 2] ?? (n > 1 ? (state.cols === n - 1 ? n - 2 : n - 1) : null);
    item.axes = item.dimensions.map((dimension) => new Coordinates(dimension));
    const hasItems = item.shape.every((count) => count > 0);
    if (item.is_number && item.mesh) views.push("mesh");
    if (item.is_number && n >= 2 && wide.length >= 2 && hasItems) views.push("image");
    if (item.is_number && wide.length >= 1 && hasItems) views.push("line");
    if (item.is_number && now.records > 1 && hasItems) views.push("records");
    if (hasItems) views.push("table");
  }
  if (["inline", "block", "array", "varray"].includes(now.kind)) views.push("bytes");
  if (now.kind === "streams") views.push("stream");
  if (!views.includes(state.v)) state.v = views.includes("records") && n === 0 ? "records" : views[0];
  byId("tabs").replaceChildren(...views.map((view) => el("button", { role: "tab", class: view === state.v ? "on" : "", onclick: () => see(view) }, view)));
  tell();
  show();
}

function see(view) {
  state.v = view;
  delete state.box;
  delete state.camera;
  for (const tab of byId("tabs").children) tab.className = tab.textContent === view ? "on" : "";
  below.replaceChildren();
  show();
}

// ---- attributes and statistics
function tell() {
  const rows = Object.entries(item.attributes ?? {}).map(([key, value]) =>
    el("tr", {}, el("td", {}, key), el("td", {}, typeof value === "string" ? value : JSON.stringify(value))));
  const facts = [];
  if (item.shape) facts.push(["type", item.type], ["shape", item.shape.join(" × ") || "one number"], ["dimensions", item.dimensions.map((d) => d.name).join(", ")], ["bytes", item.bytes.toLocaleString("en")]);
  if (item.unreadable) facts.push(["cannot be read", item.unreadable]);
  const words = el("td", { id: "statistics" });
  const factRows = facts.filter(([, value]) => value !== "").map(([key, value]) => el("tr", {}, el("td", {}, key), el("td", {}, value)));
  if (item.is_number && item.bytes > 0) {
    factRows.push(el("tr", {}, el("td", {}, "all numbers"), words));
    const read = () => ask("statistics", base()).then((found) => (words.textContent = found.words), (error) => (words.textContent = error.message));
    if (item.bytes <= 1 << 26) read();
    else words.append(el("button", { onclick: read }, "read all"));
  }
  about.replaceChildren(el("table", {}, ...factRows), el("table", {}, ...rows));
}

// ---- controls
function slider(name, most, value, text, changed) {
  const at = el("span", { class: "at" }, text(value));
  const input = el("input", { type: "range", min: 0, max: most, step: 1, "aria-label": name });
  input.value = value;
  input.addEventListener("input", () => {
    at.textContent = text(Number(input.value));
    changed(Number(input.value));
  });
  return el("label", {}, name, input, at);
}

function choice(name, options, value, changed) {
  const select = el("select", { "aria-label": name, onchange: () => changed(select.value) }, ...options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = value;
  return el("label", {}, name, select);
}

function limit(key, name) {
  const input = el("input", { type: "number", step: "any", placeholder: "auto", "aria-label": name });
  input.value = state[key] ?? "";
  input.addEventListener("change", () => {
    state[key] = input.value === "" ? null : Number(input.value);
    keep();
    shown?.draw();
  });
  return el("label", {}, name, input);
}

function logBox() {
  const box = el("input", { type: "checkbox", id: "log", onchange: () => { state.log = box.checked ? 1 : null; keep(); shown?.draw(); } });
  box.checked = Boolean(state.log);
  return el("label", {}, box, "log");
}

function colourChoice() {
  const options = ["viridis", "diverging", "gray"].map((map) => [map, map]);
  return choice("colours", options, state.map, (map) => { state.map = map; keep(); shown?.draw(); });
}

function recordSlider(again) {
  const { records } = entry();
  if (records < 2) return null;
  return slider("record", records - 1, state.r, String, (r) => { state.r = r; state.lastRecord = r; again(); });
}

// Sliders of the dimensions that are not shown.
function otherDimensions(dimensions, again) {
  return item.shape.map((count, d) => {
    if (dimensions.includes(d) || count < 2) return null;
    const axis = item.axes[d];
    const text = (k) => (axis.values.length > 2 ? `${k}: ${axis.text(k)}` : String(k));
    return slider(axis.name, count - 1, state.at[d], text, (k) => { state.at[d] = k; again(); });
  });
}

function dimensionChoices(keys) {
  if (item.shape.length <= keys.length) return [];
  const options = item.shape.map((_, d) => [d, item.axes[d].name]);
  const swap = (key, value) => {
    for (const other of keys) if (state[other] === Number(value)) state[other] = state[key];
    state[key] = Number(value);
    delete state.box;
    show();
  };
  return keys.map((key) => choice(key === "rows" ? "up" : "across", options, state[key], (value) => swap(key, value)));
}

// ---- views
function show() {
  keep();
  const view = { image, line, records, table: asTable, mesh, bytes: asBytes, stream }[state.v];
  controls.replaceChildren();
  if (!view) {
    shown = null;
    stage.replaceChildren();
    return;
  }
  view();
}

function image() {
  const alive = watch();
  const picture = new Picture(stage, below, pointer);
  const [y, x] = [state.rows, state.cols];
  const [ny, nx] = [item.shape[y], item.shape[x]];
  const [yAxis, xAxis] = [item.axes[y], item.axes[x]];
  // Upwards, unless coordinates descend: then the rows are counted from above.
  const flip = yAxis.descend;
  const up = (index) => (flip ? ny - 1 - index : index);
  const full = [-0.5, nx - 0.5, -0.5, ny - 0.5];
  let minus = null;
  let auto = null;
  const box = () => (state.box?.length === 4 ? state.box : full);
  const draw = () => {
    const [l, r, b, t] = box();
    const ratio = nx / ny;
    const label = minus === null ? item.label : `${item.label}, minus ${files[minus].name.split("/").pop()}`;
    picture.draw({
      box: box(), aspect: ratio > 0.2 && ratio < 5 ? ratio : null, label, colours: maps[state.map], middle: state.map === "diverging", log: Boolean(state.log), limits: limits(),
      xName: xAxis.name, yName: yAxis.name,
      xTicks: (n) => xAxis.ticks(l, r, n),
      yTicks: (n) => (flip ? yAxis.ticks(up(t), up(b), n).map(({ at, text }) => ({ at: 1 - at, text })) : yAxis.ticks(b, t, n)),
      text: (point, value, _, k) => {
        const data = picture.data;
        const column = data.index.x(k % data.nx);
        const row = data.index.y(flip ? Math.floor(k / data.nx) : data.ny - 1 - Math.floor(k / data.nx));
        const where = (axis, at) => `${axis.name} ${axis.text(at)}`;
        return `${where(xAxis, column)}   ${where(yAxis, row)}   value ${value}   [${item.shape.map((_, d) => (d === x ? column : d === y ? row : state.at[d])).join(", ")}]`;
      },
    });
  };
  const read = () => reading(alive, async () => {
    keep();
    const [l, r, b, t] = box();
    const clamp = (value, n) => Math.min(n, Math.max(0, value));
    const [x0, x1] = [clamp(Math.floor(l + 0.5), nx - 1), clamp(Math.ceil(r + 0.5), nx)];
    let [y0, y1] = [clamp(Math.floor(b + 0.5), ny - 1), clamp(Math.ceil(t + 0.5), ny)];
    if (flip) [y0, y1] = [ny - y1, ny - y0];
    const area = picture.area();
    const ratio = window.devicePixelRatio || 1;
    const { head, take } = await binary("plane", {
      ...base(), rows: y, columns: x, x0, x1, y0, y1, minus, width: Math.round(area[2] * ratio), height: Math.round(area[3] * ratio), fixed: state.at.join(","),
    });
    if (!alive()) return;
    const [ys, xs] = [head.rows, head.columns];
    const values = take(Float64Array, ys.count * xs.count);
    const rows = [...Array(ys.count).keys()].map((k) => values.subarray(k * xs.count, (k + 1) * xs.count));
    if (!flip) rows.reverse();
    const ordered = new Float64Array(values.length);
    rows.forEach((row, k) => ordered.set(row, k * xs.count));
    const at = (axis) => (k) => axis.from + Math.floor(((2 * k + 1) * (axis.to - axis.from)) / (2 * axis.count));
    const isFull = xs.to - xs.from === nx && ys.to - ys.from === ny;
    if (isFull || !auto) {
      const scale = [scaleOf(values, false), scaleOf(values, true)];
      auto = [scale[0].from, scale[0].to, ...(scale[1] ? [scale[1].from, scale[1].to] : [])];
    }
    const bottom = flip ? ny - ys.to : ys.from;
    picture.data = { values: ordered, nx: xs.count, ny: ys.count, auto, index: { x: at(xs), y: at(ys) }, box: [xs.from - 0.5, xs.to - 0.5, bottom - 0.5, bottom + (ys.to - ys.from) - 0.5] };
    draw();
  });
  const changed = () => { draw(); read(); };
  shown = windowed(picture, () => box(), full, (next) => { state.box = next; changed(); }, draw);
  const others = files.map((file, f) => [f, file.name.split("/").pop()]).filter(([f]) => f !== state.f && files[f].entries.some((other) => other.kind === "dataset" && other.name === entry().name));
  const again = () => { auto = null; read(); };
  controls.replaceChildren(...[
    ...dimensionChoices(["rows", "cols"]), recordSlider(again), ...otherDimensions([y, x], again), colourChoice(), logBox(), limit("lo", "from"), limit("hi", "to"),
    others.length ? choice("minus", [["", "nothing"], ...others], "", (f) => { minus = f === "" ? null : Number(f); if (minus !== null) state.map = "diverging"; again(); }) : null,
  ].filter(Boolean));
  shown.read = read;
  read();
}

// Moves and zooms a window over a picture.
function windowed(picture, box, full, set, draw) {
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
  picture.zoomed = zoom;
  picture.moved = (x, y, drag) => move(x, y, drag.box);
  picture.all = () => set(null);
  return { picture, draw, all: () => set(null), zoom, move: (x, y) => { const [l, r, b, t] = box(); move(x * (r - l), y * (t - b)); } };
}

function inside(box, full) {
  const shift = (low, high, from, to) => (low < from ? from - low : high > to ? to - high : 0);
  const [x, y] = [shift(box[0], box[1], full[0], full[1]), shift(box[2], box[3], full[2], full[3])];
  return [box[0] + x, box[1] + x, box[2] + y, box[3] + y];
}

// A line: points, an axis, and the ends of its indices.
function plot(read, axis, full, label, parts) {
  const alive = watch();
  const canvas = el("canvas");
  stage.replaceChildren(canvas);
  let points = null;
  let area = [0, 0, 1, 1];
  let up = null;
  const ends = () => (state.box?.length === 2 ? state.box : full);
  const draw = () => {
    const { context, width, height } = fitted(canvas);
    area = [76, 12, width - 76 - 24, height - 12 - 48];
    const [from, to] = ends();
    const [first, last] = [axis.value(from), axis.value(to)];
    const numbers = points ? points.numbers : [];
    up = scaleOf(numbers, Boolean(state.log), limits()) ?? scaleOf(numbers, false, limits());
    if (!up.log && limits().every((end) => end === null)) {
      const margin = (up.to - up.from) / 25;
      up = { ...up, from: up.from - margin, to: up.to + margin };
    }
    const across = placed(first < last ? { from: first, to: last } : { from: last, to: first }, area[2] / 90);
    if (first > last) across.forEach((tick) => (tick.at = 1 - tick.at));
    frame(context, area, across, axis.name, placed(up, area[3] / 50), label, true);
    if (points) curve(context, area, Array.from(points.indices, (index, k) => [(axis.value(index) - first) / (last - first), place(up, points.numbers[k])]));
    if (points?.sampled) pointer.textContent = "only some of the items are drawn: there are too many; zoom in to see all";
  };
  const fetchNow = () => reading(alive, async () => {
    keep();
    const found = await read(ends(), Math.round(area[2]) || 800);
    if (!alive()) return;
    points = found;
    shown.points = points;
    draw();
  });
  const set = (next) => { state.box = next; draw(); fetchNow(); };
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
    if (!points?.indices.length) return;
    const at = index(event);
    let k = 0;
    points.indices.forEach((candidate, j) => { if (Math.abs(candidate - at) < Math.abs(points.indices[k] - at)) k = j; });
    pointer.textContent = `${axis.name} ${axis.text(points.indices[k])}   value ${points.numbers[k]}   [${points.indices[k]}]`;
  });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(1.0015 ** event.deltaY, index(event)); }, { passive: false });
  canvas.addEventListener("dblclick", () => set(null));
  shown = { draw, all: () => set(null), zoom: (by) => zoom(by), move, canvas, read: fetchNow };
  controls.replaceChildren(...[...parts(fetchNow), logBox(), limit("lo", "from"), limit("hi", "to")].filter(Boolean));
  draw();
  fetchNow();
}

const takeLine = ({ head, take }) => ({ indices: take(Float64Array, head.count), numbers: take(Float64Array, head.count), sampled: head.sampled });

function line() {
  const n = item.shape[state.cols];
  const read = async ([from, to], width) => takeLine(await binary("line", {
    ...base(), columns: state.cols, x0: Math.max(0, Math.floor(from)), x1: Math.min(n, Math.ceil(to) + 1), width, fixed: state.at.join(","),
  }));
  plot(read, item.axes[state.cols], [0, Math.max(1, n - 1)], item.label, (again) => [...dimensionChoices(["cols"]), recordSlider(again), ...otherDimensions([state.cols], again)]);
}

function records() {
  const axis = new Coordinates({ name: "record", indices: [0, 1], values: [0, 1] });
  const read = async () => takeLine(await binary("records", { ...base(), fixed: state.at.join(",") }));
  plot(read, axis, [0, Math.max(1, entry().records - 1)], item.label, (again) => otherDimensions([], again));
}

function asTable() {
  watch();
  const n = item.shape.length;
  const [y, x] = n < 2 ? [n - 1, null] : [state.rows, state.cols];
  const [rows, columns] = [n ? item.shape[y] : 1, x === null ? 1 : item.shape[x]];
  const digits = { complex64: 190, complex128: 320, float64: 170, int64: 160, uint64: 160 }[item.type] ?? 110;
  const cells = async (y0, y1, x0, x1) => {
    const one = { columns: y, x0: y0, x1: y1 };
    const found = await ask("table", { ...base(), fixed: state.at.join(","), ...(n === 0 ? {} : n === 1 ? one : { rows: y, y0, y1, columns: x, x0, x1 }) });
    const [height, wide] = [y1 - y0, x1 - x0];
    return (row, column) => found.cells[found.turned ? (column - x0) * height + (row - y0) : (row - y0) * wide + (column - x0)] ?? "";
  };
  const head = (axis) => (k) => (axis && axis.values.length > 2 ? `${k}: ${axis.text(k)}` : String(k));
  const again = () => show();
  const names = item.attributes?.columns;
  const columnHead = x === null ? () => entry().name.split("/").pop() : Array.isArray(names) && names.length === columns ? (k) => String(names[k]) : head(item.axes[x]);
  controls.replaceChildren(...[...(n > 2 ? dimensionChoices(["rows", "cols"]) : []), recordSlider(again), ...otherDimensions([y, x], again)].filter(Boolean));
  shown = { draw: () => {} };
  shown.draw = table(stage, { rows, columns, rowHead: head(item.axes[y]), columnHead, cells, width: digits }, failed);
}

function mesh() {
  const alive = watch();
  const { label, shape } = item;
  const picture = new Picture(stage, below, pointer);
  let about = null;
  let component = null;
  let cut = null;
  const camera = () => ({ x: state.camera[0], y: state.camera[1], scale: state.camera[2], turn: state.camera[3], tilt: state.camera[4] });
  const size = () => picture.area(null).slice(2);
  const box = () => {
    const { x, y, scale } = camera();
    const [w, h] = size();
    return [x - w / 2 / scale, x + w / 2 / scale, y - h / 2 / scale, y + h / 2 / scale];
  };
  const draw = () => {
    if (!about || !state.camera) return;
    const [l, r, b, t] = box();
    picture.draw({
      box: [l, r, b, t], aspect: null, label: label ?? (about.kind.startsWith("forest") ? "level" : "cells"), colours: maps[state.map], middle: state.map === "diverging",
      log: Boolean(state.log), limits: limits(), xName: about.flat ? "x" : "", yName: about.flat ? "y" : "",
      xTicks: (n) => (about.flat ? placed({ from: l, to: r }, n) : []), yTicks: (n) => (about.flat ? placed({ from: b, to: t }, n) : []),
      text: ([px, py], value, cell) => {
        const where = about.flat ? `x ${textOf(px, (r - l) / 1000)}   y ${textOf(py, (t - b) / 1000)}   ` : "";
        return cell ? `${where}value ${value}   cell ${cell - 1}` : where;
      },
    });
  };
  const read = (quick = false) => reading(alive, async () => {
    const parameters = { ...base(), component, axis: cut?.axis, at: cut?.at };
    if (!about) {
      const found = await ask("mesh", parameters);
      if (!alive()) return;
      about = found;
      const isTurned = state.camera?.length === 5 && Boolean(state.camera[3] || state.camera[4]);
      if (state.camera?.length !== 5 || isTurned === about.flat) state.camera = about.flat ? [0, 0, 0, 0, 0] : [0, 0, 0, Math.PI / 6, Math.PI / 3];
      byId("facts").textContent = `${about.kind}, ${about.cells.toLocaleString("en")} cells`;
      makeControls();
    }
    const ratio = (window.devicePixelRatio || 1) * (quick && about.cells > 100000 ? 0.5 : 1);
    const [w, h] = size();
    const { x, y, scale, turn, tilt } = camera();
    const asked = scale > 0 ? { x, y, scale: scale * ratio } : {};
    const { head, take } = await binary("raster", { ...parameters, ...asked, turn, tilt, width: Math.round(w * ratio), height: Math.round(h * ratio) });
    if (!alive()) return;
    const count = head.width * head.height;
    if (!(state.camera[2] > 0)) state.camera = [head.x, head.y, head.scale / ratio, turn, tilt];
    const [hw, hh] = [head.width / 2 / head.scale, head.height / 2 / head.scale];
    picture.data = {
      values: take(Float64Array, count), cells: take(Uint32Array, count), shades: take(Uint8Array, count), nx: head.width, ny: head.height,
      auto: [about.from, about.to, ...(about.positive ? [about.positive] : [])], box: [head.x - hw, head.x + hw, head.y - hh, head.y + hh],
    };
    if (about.flat) picture.data.shades = null;
    keep();
    draw();
    if (quick) settle();
  });
  let settling = 0;
  const settle = () => {
    clearTimeout(settling);
    settling = setTimeout(() => read(), 250);
  };
  const quick = () => { if (about?.flat) draw(); read(true); };
  const zoom = (by, point) => {
    const { x, y, scale } = camera();
    const [px, py] = point ?? [x, y];
    state.camera[0] = px + (x - px) * by;
    state.camera[1] = py + (y - py) * by;
    state.camera[2] = scale / by;
    quick();
  };
  const turn = (x, y) => {
    state.camera[3] += x;
    state.camera[4] = Math.min(Math.PI, Math.max(0, state.camera[4] + y));
    quick();
  };
  const all = () => { state.camera[2] = 0; read(); };
  picture.zoomed = zoom;
  picture.all = all;
  picture.moved = (x, y, drag, event) => {
    if (about.flat || event.ctrlKey) {
      drag.camera ??= [...state.camera];
      state.camera[0] = drag.camera[0] + x;
      state.camera[1] = drag.camera[1] + y;
      quick();
    } else {
      turn((event.clientX - (drag.lastX ?? drag.x)) / 150, -(event.clientY - (drag.lastY ?? drag.y)) / 150);
      [drag.lastX, drag.lastY] = [event.clientX, event.clientY];
    }
  };
  shown = {
    picture, draw, all, zoom: (by) => zoom(by), read,
    move: (x, y) => {
      if (!about?.flat) return turn(x, -y);
      const [l, r, b, t] = box();
      state.camera[0] += x * (r - l);
      state.camera[1] += y * (t - b);
      quick();
    },
  };
  const again = () => { about = null; read(); };
  const makeControls = () => {
    const perRow = shape ? shape.slice(1).reduce((all, n) => all * n, 1) : 1;
    const components = [["", perRow > 1 ? "length or mean" : "all"], ...Array.from({ length: Math.min(perRow, 64) }, (_, k) => [k, String(k)])];
    const [least, most] = about.bounds;
    const planes = [["", "surface"], ["0", "x"], ["1", "y"], ["2", "z"]];
    const solid = bounds ??= about.flat ? null : [least, most];
    const at = cut && solid ? el("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": "where it is cut" }) : null;
    if (at) {
      at.value = 1000 * (cut.at - solid[0][cut.axis]) / (solid[1][cut.axis] - solid[0][cut.axis]);
      at.addEventListener("input", () => { cut.at = solid[0][cut.axis] + (at.value / 1000) * (solid[1][cut.axis] - solid[0][cut.axis]); read(); });
    }
    controls.replaceChildren(...[
      recordSlider(again),
      perRow > 1 ? choice("component", components, component ?? "", (k) => { component = k === "" ? null : Number(k); again(); }) : null,
      solid ? choice("cut", planes, cut ? String(cut.axis) : "", (axis) => {
        cut = axis === "" ? null : { axis: Number(axis), at: (solid[0][Number(axis)] + solid[1][Number(axis)]) / 2 };
        again();
      }) : null,
      at,
      colourChoice(), logBox(), limit("lo", "from"), limit("hi", "to"),
    ].filter(Boolean));
  };
  let bounds = null;
  read();
}

function asBytes() {
  const alive = watch();
  shown = { draw: () => {} };
  reading(alive, () => bytes(stage, "bytes", base()));
}

function stream() {
  const alive = watch();
  shown = { draw: () => {} };
  const input = el("input", { type: "number", min: 0, value: 0, "aria-label": "task" });
  const read = () => reading(alive, async () => {
    const found = await bytes(stage, "stream", { ...base(), task: Number(input.value) });
    input.max = found.tasks - 1;
  });
  input.addEventListener("change", read);
  controls.replaceChildren(el("label", {}, "task", input));
  read();
}

// ---- the whole page
function save() {
  const canvas = stage.querySelector("canvas");
  if (!canvas) return;
  canvas.toBlob((blob) => {
    const link = el("a", { href: URL.createObjectURL(blob), download: `${entry().name.replaceAll(/[^\w.-]+/g, "_")}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

function theme() {
  const dark = document.documentElement.classList.toggle("dark");
  localStorage.setItem("scda-theme", dark ? "dark" : "light");
  if (shown?.picture?.data) shown.picture.data.key = null;
  shown?.draw();
}

function nudge(by) {
  const records = controls.querySelector("input[aria-label=record]");
  if (records) move(records, by);
}

function move(input, by) {
  input.value = Number(input.value) + by;
  input.dispatchEvent(new Event("input"));
}

function key(event) {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range" && event.target.type !== "checkbox";
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const other = () => [...controls.querySelectorAll("input[type=range]")].find((input) => input.ariaLabel !== "record");
  const tab = (name) => [...byId("tabs").children].some((node) => node.textContent === name) && see(name);
  const isRange = event.target.type === "range";
  const actions = {
    "/": () => byId("filter").focus(), "?": () => byId("keys").showModal(),
    j: () => tree.step(1), k: () => tree.step(-1), "[": () => nudge(-1), "]": () => nudge(1),
    ",": () => other() && move(other(), -1), ".": () => other() && move(other(), 1),
    "+": () => shown?.zoom?.(1 / 1.5), "=": () => shown?.zoom?.(1 / 1.5), "-": () => shown?.zoom?.(1.5), 0: () => shown?.all?.(),
    l: () => byId("log")?.click(), s: save, d: theme, i: () => tab("image"), p: () => tab("line"), t: () => tab("table"), m: () => tab("mesh"),
    c: () => {
      const select = controls.querySelector("select[aria-label=colours]");
      if (!select) return;
      select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
      select.dispatchEvent(new Event("change"));
    },
  };
  if (!isRange) {
    Object.assign(actions, {
      ArrowLeft: () => shown?.move?.(-0.2, 0), ArrowRight: () => shown?.move?.(0.2, 0), ArrowUp: () => shown?.move?.(0, 0.2), ArrowDown: () => shown?.move?.(0, -0.2),
    });
  }
  const action = actions[event.key];
  const isScrolling = event.key.startsWith("Arrow") && !shown?.move;
  if (action && !isScrolling) {
    event.preventDefault();
    action();
  }
}

async function begin() {
  const isDark = localStorage.getItem("scda-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.classList.toggle("dark", isDark === "dark");
  ({ files, maps } = await ask("files"));
  tree = new Tree(byId("tree"), files, (f, i) => choose(f, i).catch(failed));
  byId("filter").addEventListener("input", (event) => tree.show(event.target.value));
  byId("png").addEventListener("click", save);
  byId("theme").addEventListener("click", theme);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("link").addEventListener("click", () => navigator.clipboard?.writeText(location.href).then(() => (pointer.textContent = "copied: it works as long as the command runs")));
  document.addEventListener("keydown", key);
  new ResizeObserver(() => { shown?.draw(); if (shown?.picture) shown.read?.(); }).observe(stage);
  const go = async (hash) => {
    const found = restored(hash);
    const isThere = files[found.f]?.entries[found.i];
    if (isThere) await choose(found.f, found.i, found);
    else if (files[0].entries.length) {
      const score = ({ kind, mesh, dimensions }) => (kind === "group" && mesh ? 4 : kind === "dataset" ? Math.min(2, dimensions) + 1 : 0);
      const best = files[0].entries.reduce((best, entry, i, all) => (score(entry) > score(all[best]) ? i : best), 0);
      await choose(0, best);
    }
  };
  // The address of the event: a picture that comes meanwhile may have put its own back.
  window.addEventListener("hashchange", (event) => go(new URL(event.newURL).hash).catch(failed));
  await go(location.hash);
  // For tests: what is on the screen.
  window.scda = { get shown() { return shown; }, get state() { return state; } };
}

begin().catch(failed);
