// The controls above a picture.
import { el } from "./kit.js";
import { entry, fileName, keep, now } from "./now.js";

export const put = (...parts) => document.getElementById("controls").replaceChildren(...parts.flat().filter(Boolean));

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

export function choice(name, options, value, changed) {
  const select = el("select", { "aria-label": name, onchange: () => changed(select.value) }, ...options.map(([key, text]) => el("option", { value: key }, text)));
  select.value = value;
  return el("label", {}, name, select);
}

function limit(key, name) {
  const input = el("input", { type: "number", step: "any", placeholder: "auto", "aria-label": name });
  input.value = now.state[key] ?? "";
  input.addEventListener("change", () => {
    now.state[key] = input.value === "" ? null : Number(input.value);
    keep();
    now.shown?.draw();
  });
  return el("label", {}, name, input);
}

// The scale: its logarithm and its ends.
export function scaleControls() {
  const box = el("input", { type: "checkbox", id: "log", onchange: () => { now.state.log = box.checked ? 1 : null; keep(); now.shown?.draw(); } });
  box.checked = Boolean(now.state.log);
  return [el("label", {}, box, "log"), limit("lo", "from"), limit("hi", "to")];
}

export function colourChoice() {
  const options = ["viridis", "diverging", "gray"].map((map) => [map, map]);
  return choice("colours", options, now.state.map, (map) => { now.state.map = map; keep(); now.shown?.draw(); });
}

export function recordSlider(again) {
  const { records } = entry();
  if (records < 2) return null;
  return slider("record", records - 1, now.state.r, String, (r) => { now.state.r = r; again(); });
}

// Which member of structs, part of complex numbers, or number of a row is shown.
export function columnChoice() {
  const { members = [], parts = [], ragged, shape } = now.item;
  const numbers = (count, prefix = "") => [...Array(Math.min(count, 64)).keys()].map((k) => `${prefix}${k}`);
  let options = members.flatMap(([name, count]) => (count > 1 ? [name, ...numbers(count, `${name}.`)] : [name])).map((name) => [name, name]);
  if (!members.length && shape) {
    const perRow = shape.slice(1).reduce((all, n) => all * n, 1);
    const first = ragged ? "how many" : now.item.dimensions[1] === "corner" ? "mean" : perRow < 4 ? "length" : null;
    if (ragged || perRow > 1) options = [...(first ? [["", first]] : []), ...numbers(ragged ? 8 * perRow : perRow).map((k) => [k, k])];
  }
  const isPart = !options.length && parts.length > 0;
  if (isPart) options = parts.map((name) => [name, name]);
  if (options.length < 2) return null;
  const first = options.find(([name]) => !/^position(\.|$)/.test(name)) ?? options[0];
  return choice(members.length ? "member" : isPart ? "part" : "component", options, now.state.k ?? first[0], (k) => {
    now.state.k = k === "" ? null : k;
    now.show();
  });
}

// Beside which files it is shown. -1: none.
export function besideChoice(able) {
  if (!able.length) return null;
  const options = [["", able.length > 1 ? "all" : fileName(able[0].f)], ...(able.length > 1 ? able.map(({ f }) => [f, fileName(f)]) : []), ["-1", "nothing"]];
  const value = now.state.with?.length === 1 ? String(now.state.with[0]) : "";
  return choice("beside", options, able.length === 1 && value !== "-1" ? "" : value, (f) => { now.state.with = f === "" ? null : [Number(f)]; now.show(); });
}
