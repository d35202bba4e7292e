// The whole page: what is chosen, its views, keys.
import { ask, el, style } from "./kit.js";
import { mesh } from "./mesh.js";
import { about, base, below, byId, controls, entry, failed, findOthers, keep, now, pointer, restored, stage, watch } from "./now.js";
import { asBytes, asValues, stream } from "./text.js";
import { Tree } from "./tree.js";

// ---- choosing
async function choose(f, i, given = {}) {
  const before = now.item && now.state.f !== undefined ? entry() : null;
  const shown = now.state.r;
  now.state = { f, i, map: now.state.map ?? "viridis", ...given };
  const chosen = entry();
  // The last record, or of as many that which was shown.
  now.state.r ??= before?.records === chosen.records ? shown : Math.max(0, chosen.records - 1);
  now.tree.mark({ f, i });
  now.shown = null;
  watch();
  byId("title").textContent = chosen.name;
  byId("facts").textContent = `${chosen.kind}, section ${chosen.number}${chosen.words ? `: ${chosen.words}` : ""}`;
  document.title = `${chosen.name} – scda view`;
  below.replaceChildren();
  pointer.textContent = "";
  await load(given);
}

async function load(given = {}) {
  const chosen = entry();
  const [found, others] = await Promise.all([ask("item", base()), findOthers()]);
  // Something else was chosen meanwhile.
  if (chosen !== entry()) return;
  [now.item, now.others] = [found, others];
  const views = [];
  if (chosen.kind === "group" ? chosen.mesh : now.item.mesh) views.push("mesh");
  if (now.item.shape?.every((count) => count > 0) && !now.item.unreadable) views.push("values");
  if (["inline", "block", "array", "varray"].includes(chosen.kind)) views.push("bytes");
  if (chosen.kind === "streams") views.push("stream");
  if (!views.includes(now.state.v)) now.state.v = views[0];
  byId("tabs").replaceChildren(...views.map((view) => el("button", { role: "tab", class: view === now.state.v ? "on" : "", onclick: () => see(view) }, view)));
  tell();
  now.show();
}

function see(view) {
  now.state.v = view;
  delete now.state.camera;
  delete now.state.cut;
  for (const tab of byId("tabs").children) tab.className = tab.textContent === view ? "on" : "";
  below.replaceChildren();
  now.show();
}

// ---- attributes
function tell() {
  const rows = Object.entries(now.item.attributes ?? {}).map(([key, value]) =>
    el("tr", {}, el("td", {}, key), el("td", {}, typeof value === "string" ? value : JSON.stringify(value))));
  const facts = [];
  if (now.item.shape) facts.push(["type", now.item.type], ["shape", now.item.shape.join(" × ") || "one number"], ["dimensions", now.item.dimensions.map((name) => name ?? "-").join(", ")], ["bytes", now.item.bytes?.toLocaleString("en") ?? ""]);
  if (now.item.unreadable) facts.push(["cannot be read", now.item.unreadable]);
  const factRows = facts.filter(([, value]) => value !== "").map(([key, value]) => el("tr", {}, el("td", {}, key), el("td", {}, value)));
  about.replaceChildren(el("table", {}, ...factRows), el("table", {}, ...rows));
}

const VIEWS = { mesh, values: asValues, bytes: asBytes, stream };
now.show = () => {
  keep();
  controls.replaceChildren();
  if (VIEWS[now.state.v]) VIEWS[now.state.v]();
  else {
    now.shown = null;
    stage.replaceChildren();
  }
};

// ---- the whole page
// All pictures as one.
function save() {
  const canvases = [...stage.querySelectorAll("canvas")];
  if (!canvases.length) return;
  const ratio = window.devicePixelRatio || 1;
  const [left, top, right, bottom] = [["left", Math.min], ["top", Math.min], ["right", Math.max], ["bottom", Math.max]].map(([side, most]) => most(...canvases.map((canvas) => canvas.getBoundingClientRect()[side])));
  const whole = el("canvas", { width: Math.round((right - left) * ratio), height: Math.round((bottom - top) * ratio) });
  const context = whole.getContext("2d");
  context.fillStyle = style("--paper");
  context.fillRect(0, 0, whole.width, whole.height);
  for (const canvas of canvases) {
    const at = canvas.getBoundingClientRect();
    context.drawImage(canvas, Math.round((at.left - left) * ratio), Math.round((at.top - top) * ratio));
  }
  whole.toBlob((blob) => {
    const link = el("a", { href: URL.createObjectURL(blob), download: `${entry().name.replaceAll(/[^\w.-]+/g, "_")}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

function theme() {
  const dark = document.documentElement.classList.toggle("dark");
  localStorage.setItem("scda-theme", dark ? "dark" : "light");
  for (const { data } of now.shown?.panels?.pictures ?? []) if (data) data.key = null;
  now.shown?.draw();
}

function nudge(by) {
  const records = controls.querySelector("input[aria-label=record]");
  if (!records) return;
  records.value = Number(records.value) + by;
  records.dispatchEvent(new Event("input"));
}

function key(event) {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range" && event.target.type !== "checkbox";
  if (isTyping) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
  const isRange = event.target.type === "range";
  const actions = {
    "/": () => byId("filter").focus(), "?": () => byId("keys").showModal(),
    j: () => now.tree.step(1), k: () => now.tree.step(-1), "[": () => nudge(-1), "]": () => nudge(1),
    "+": () => now.shown?.zoom?.(1 / 1.5), "=": () => now.shown?.zoom?.(1 / 1.5), "-": () => now.shown?.zoom?.(1.5), 0: () => now.shown?.all?.(),
    l: () => byId("log")?.click(), s: save, d: theme,
    c: () => {
      const select = controls.querySelector("select[aria-label=colours]");
      if (!select) return;
      select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
      select.dispatchEvent(new Event("change"));
    },
  };
  if (!isRange) {
    Object.assign(actions, {
      ArrowLeft: () => now.shown?.move?.(-0.2, 0), ArrowRight: () => now.shown?.move?.(0.2, 0), ArrowUp: () => now.shown?.move?.(0, 0.2), ArrowDown: () => now.shown?.move?.(0, -0.2),
    });
  }
  const action = actions[event.key];
  const isScrolling = event.key.startsWith("Arrow") && !now.shown?.move;
  if (action && !isScrolling) {
    event.preventDefault();
    action();
  }
}

async function begin() {
  const isDark = localStorage.getItem("scda-theme") ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.classList.toggle("dark", isDark === "dark");
  Object.assign(now, await ask("files"));
  now.tree = new Tree(byId("tree"), now.files, (f, i) => choose(f, i, now.state.with ? { with: now.state.with } : {}).catch(failed));
  byId("filter").addEventListener("input", (event) => now.tree.show(event.target.value));
  byId("png").addEventListener("click", save);
  byId("theme").addEventListener("click", theme);
  byId("help").addEventListener("click", () => byId("keys").showModal());
  byId("link").addEventListener("click", () => navigator.clipboard?.writeText(location.href).then(() => (pointer.textContent = "copied: it works as long as the command runs")));
  document.addEventListener("keydown", key);
  new ResizeObserver(() => { now.shown?.draw(); if (now.shown?.picture) now.shown.read?.(); }).observe(stage);
  const go = async (hash) => {
    const found = restored(hash);
    const isThere = now.files[found.f]?.entries[found.i];
    if (isThere) await choose(found.f, found.i, found);
    else if (now.files[0].entries.length) {
      const score = ({ kind, mesh }) => (kind === "group" && mesh ? 2 : kind === "dataset" ? 1 : 0);
      const best = now.files[0].entries.reduce((best, entry, i, all) => (score(entry) > score(all[best]) ? i : best), 0);
      await choose(0, best);
    }
  };
  // The address of the event: a picture that comes meanwhile may have put its own back.
  window.addEventListener("hashchange", (event) => go(new URL(event.newURL).hash).catch(failed));
  await go(location.hash);
  // For tests: what is on the screen.
  window.scda = { get shown() { return now.shown; }, get state() { return now.state; } };
}

begin().catch(failed);
