// What is shown as text: a table of items, a section, the stream of a task.
import { dimensionChoices, otherDimensions, put, recordSlider } from "./controls.js";
import { ask, el } from "./kit.js";
import { base, entry, failed, now, reading, stage, watch } from "./now.js";
import { bytes, table } from "./tables.js";

export function asTable() {
  watch();
  const n = now.item.shape.length;
  const [y, x] = n < 2 ? [n - 1, null] : [now.state.rows, now.state.cols];
  const [rows, columns] = [n ? now.item.shape[y] : 1, x === null ? 1 : now.item.shape[x]];
  const isText = /^(text|bytes|string|variable)/.test(now.item.type);
  const digits = { complex64: 190, complex128: 320, float64: 170, int64: 160, uint64: 160 }[now.item.type] ?? (isText ? 320 : /^(struct|datetime)/.test(now.item.type) ? (now.item.type[0] === "s" ? 560 : 220) : 110);
  const cells = async (y0, y1, x0, x1) => {
    const one = { columns: y, x0: y0, x1: y1 };
    const found = await ask("table", { ...base(), fixed: now.state.at.join(","), ...(n === 0 ? {} : n === 1 ? one : { rows: y, y0, y1, columns: x, x0, x1 }) });
    const [height, wide] = [y1 - y0, x1 - x0];
    return (row, column) => found.cells[found.turned ? (column - x0) * height + (row - y0) : (row - y0) * wide + (column - x0)] ?? "";
  };
  const head = (axis) => (k) => (axis && axis.values.length > 2 ? `${k}: ${axis.text(k)}` : String(k));
  const again = () => now.show();
  const names = now.item.attributes?.columns;
  const columnHead = x === null ? () => entry().name.split("/").pop() : Array.isArray(names) && names.length === columns ? (k) => String(names[k]) : head(now.item.axes[x]);
  put(n > 2 ? dimensionChoices(["rows", "cols"]) : null, recordSlider(again), otherDimensions([y, x], again));
  now.shown = { draw: () => {} };
  now.shown.draw = table(stage, { rows, columns, rowHead: head(now.item.axes[y]), columnHead, cells, width: digits }, failed);
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
