// What is shown as text: a table of items, a section, the stream of a task.
import { dimensionChoices, otherDimensions, put, recordSlider } from "./controls.js";
import { ask, el } from "./kit.js";
import { base, entry, failed, now, reading, stage, watch } from "./now.js";
import { bytes, table } from "./tables.js";

// How wide a column of items of a type is.
function widthOf(type) {
  const known = { complex64: 190, complex128: 320, float64: 170, int64: 160, uint64: 160 }[type];
  return known ?? (/^(text|bytes|string|variable|struct)/.test(type) ? 320 : /^datetime/.test(type) ? 220 : 110);
}

export function asTable() {
  watch();
  const n = now.item.shape.length;
  const [y, x] = n < 2 ? [n - 1, null] : [now.state.rows, now.state.cols];
  const [rows, columns] = [n ? now.item.shape[y] : 1, x === null ? 1 : now.item.shape[x]];
  // Each member of structs has a column.
  const members = now.item.columns?.length ? now.item.columns : [{ name: null, type: now.item.type }];
  const count = members.length;
  const cells = async (y0, y1, x0, x1) => {
    const [i0, i1] = [Math.floor(x0 / count), Math.ceil(x1 / count)];
    // Of one item, the members that are seen; of several, all.
    const [m0, m1] = i1 - i0 === 1 ? [x0 - i0 * count, x1 - i0 * count] : [0, count];
    const one = { columns: y, x0: y0, x1: y1 };
    const found = await ask("table", { ...base(), ...(now.item.columns?.length ? { m0, m1 } : {}), fixed: now.state.at.join(","), ...(n === 0 ? {} : n === 1 ? one : { rows: y, y0, y1, columns: x, x0: i0, x1: i1 }) });
    const [height, wide] = [y1 - y0, i1 - i0];
    return (row, column) => {
      const [item, member] = [Math.floor(column / count) - i0, (column % count) - m0];
      return found.cells[(found.turned ? item * height + (row - y0) : (row - y0) * wide + item) * (m1 - m0) + member] ?? "";
    };
  };
  const head = (axis) => (k) => (axis && axis.values.length > 2 ? `${k}: ${axis.text(k)}` : String(k));
  const again = () => now.show();
  const names = now.item.attributes?.columns;
  const ofItem = x === null ? () => entry().name.split("/").pop() : Array.isArray(names) && names.length === columns ? (k) => String(names[k]) : head(now.item.axes[x]);
  const columnHead = (k) => {
    const { name } = members[k % count];
    if (name === null) return ofItem(k);
    return x === null ? name : `${ofItem(Math.floor(k / count))} ${name}`;
  };
  put(n > 2 ? dimensionChoices(["rows", "cols"]) : null, recordSlider(again), otherDimensions([y, x], again));
  now.shown = { draw: () => {} };
  now.shown.draw = table(stage, {
    rows, columns: columns * count, rowHead: head(now.item.axes[y]), columnHead, cells,
    width: Math.max(...members.map(({ type }) => widthOf(type))), ...(now.item.axes[y]?.clock ? { first: 190 } : {}),
  }, failed);
}

export function asBytes() {
  const alive = watch();
  now.shown = { draw: () => {} };
  reading(alive, () => bytes(stage, "bytes", base()));
}

export function stream() {
  const alive = watch();
  now.shown = { draw: () => {} };
  const input = el("input", { type: "number", min: 0, value: 0, "aria-label": "task" });
  const read = () => reading(alive, async () => {
    const found = await bytes(stage, "stream", { ...base(), task: Number(input.value) });
    input.max = found.tasks - 1;
  });
  input.addEventListener("change", read);
  put(el("label", {}, "task", input));
  read();
}
