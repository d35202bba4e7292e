// What is shown now, which all views know, and the address that keeps it.
import { ask, el, latest } from "./kit.js";

export const byId = (id) => document.getElementById(id);
export const [stage, below, pointer, controls, about] = ["stage", "below", "pointer", "controls", "about"].map(byId);

export const now = {
  files: [], maps: {}, tree: null,
  // f, i: the file and the line of its catalogue. r: record. v: how it is shown. k: the member or the number of a row.
  // cut: the axis and the place of a plane. with: the files beside which it is shown.
  state: {},
  item: null,
  // The same dataset or group in other files: { f, i, item }.
  others: [],
  // What is on the screen: draw(), all(), zoom(by), move(x, y).
  shown: null,
  // Shows the state anew.
  show: () => {},
};

export const failed = (error) => {
  now.shown = null;
  stage.replaceChildren(el("div", { class: "trouble", role: "alert" }, error.message));
};
const run = latest(failed);
// Counts what is shown: what was asked for before it is of no interest.
let viewing = 0;
export function watch() {
  const mine = ++viewing;
  return () => mine === viewing;
}
// What is not shown any more asks for nothing: it would take the place of what waits to be read.
export const reading = (alive, task) => alive() && run(async () => {
  try {
    if (alive()) await task();
  } catch (error) {
    if (alive()) throw error;
  }
});

const LISTS = ["camera", "cut", "with"];
export function keep() {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(now.state)) if (value !== null && value !== undefined && value !== "") query.set(key, Array.isArray(value) ? value.join(",") : value);
  history.replaceState(null, "", `#${query}`);
}
export function restored(hash) {
  const found = {};
  for (const [key, value] of new URLSearchParams(hash.slice(1))) {
    if (LISTS.includes(key)) found[key] = value.split(",").map(Number);
    else if (["v", "map", "k"].includes(key)) found[key] = value;
    else found[key] = Number(value);
  }
  return found;
}

export const entry = () => now.files[now.state.f].entries[now.state.i];
export const base = () => ({ file: now.state.f, item: now.state.i, record: now.state.r });
export const limits = () => [now.state.lo ?? null, now.state.hi ?? null];

// The end of a file's path that tells it from the others.
export function fileName(f) {
  const parts = now.files.map((file) => file.name.split("/"));
  let length = 1;
  const end = (k) => parts[k].slice(-length).join("/");
  while (length < parts[f].length && parts.some((_, k) => k !== f && end(k) === end(f))) ++length;
  return end(f);
}

// The same dataset or group in the other files.
export async function findOthers() {
  const { kind, name } = entry();
  const found = now.files.map((file, f) => ({ f, i: f === now.state.f ? -1 : file.entries.findIndex((other) => other.kind === kind && other.name === name) }));
  const asked = found.filter(({ i }) => i >= 0).map(async ({ f, i }) => {
    const record = Math.min(now.state.r, now.files[f].entries[i].records - 1);
    return { f, i, item: await ask("item", { file: f, item: i, record }) };
  });
  return (await Promise.allSettled(asked)).filter(({ status }) => status === "fulfilled").map(({ value }) => value);
}

// The files in which a mesh is shown: this one first, and those that have it, too. `changed(again)`: of another record there may be other files.
const MOST_OTHERS = 3;
export function sources() {
  const { f, i } = now.state;
  const able = now.others.filter(({ item: { kind, mesh } }) => kind === "group" || mesh);
  const all = () => {
    const wanted = able.filter((other) => (now.state.with?.includes(other.f) ?? true) && now.files[other.f].entries[other.i].records > now.state.r);
    return [{ f, i }, ...wanted.slice(0, MOST_OTHERS)].map(({ f, i }) => ({ file: f, item: i, component: now.state.k }));
  };
  const found = all();
  const changed = (again) => () => (all().length === found.length ? again() : now.show());
  return { able, all: found, changed };
}
