// A mesh, coloured by a field or by the levels of its cells.
import { placed, textOf } from "./axes.js";
import { besideChoice, choice, colourChoice, columnChoice, put, recordSlider, scaleControls } from "./controls.js";
import { ask, binary, el } from "./kit.js";
import { byId, keep, limits, now, reading, sources, watch } from "./now.js";
import { Panels } from "./panels.js";

export function mesh() {
  const alive = watch();
  const { able, all: files, changed } = sources();
  const panels = new Panels(files);
  // What there is to know of the mesh of each file, and of the first.
  let abouts = [];
  let about = null;
  // An axis and a place on it. The mesh as a whole, of which the ends of a cut are.
  let cut = now.state.cut?.length === 2 ? { axis: now.state.cut[0], at: now.state.cut[1] } : null;
  let whole = null;
  const camera = () => ({ x: now.state.camera[0], y: now.state.camera[1], scale: now.state.camera[2], turn: now.state.camera[3], tilt: now.state.camera[4] });
  const size = () => panels.first.area(null).slice(2);
  const box = () => {
    const { x, y, scale } = camera();
    const [w, h] = size();
    return [x - w / 2 / scale, x + w / 2 / scale, y - h / 2 / scale, y + h / 2 / scale];
  };
  const draw = () => {
    if (!about || !now.state.camera) return;
    const [l, r, b, t] = box();
    panels.draw({
      box: [l, r, b, t], aspect: null, label: about.label, colours: now.maps[now.state.map], middle: now.state.map === "diverging",
      log: Boolean(now.state.log), limits: limits(), xName: about.flat ? about.axes[0] : "", yName: about.flat ? about.axes[1] : "",
      xTicks: (n) => (about.flat ? placed({ from: l, to: r }, n) : []), yTicks: (n) => (about.flat ? placed({ from: b, to: t }, n) : []),
      text: ([px, py], words, k) => {
        const cell = panels.count === 1 ? panels.first.data.cells[k] : 0;
        const where = about.flat ? `${about.axes[0]} ${textOf(px, (r - l) / 1000)}   ${about.axes[1]} ${textOf(py, (t - b) / 1000)}   ` : "";
        if (panels.count > 1) return `${where}${words}`;
        return cell ? `${where}${words}   ${about.cell} ${cell - 1}` : where;
      },
    });
  };
  const read = (quick = false) => reading(alive, async () => {
    const parameters = { record: now.state.r, axis: cut?.axis, at: cut?.at };
    if (!about) {
      const found = await Promise.all(files.map((file) => ask("mesh", { ...file, ...parameters })));
      if (!alive()) return;
      if (cut && !whole) whole = await ask("mesh", { ...files[0], record: now.state.r });
      [abouts, about] = [found, found[0]];
      whole ??= about;
      const isTurned = now.state.camera?.length === 5 && Boolean(now.state.camera[3] || now.state.camera[4]);
      if (now.state.camera?.length !== 5 || isTurned === about.flat) now.state.camera = about.flat ? [0, 0, 0, 0, 0] : [0, 0, 0, Math.PI / 6, Math.PI / 3];
      byId("facts").textContent = `${about.kind}, ${about.cells.toLocaleString("en")} ${about.cell}s`;
      makeControls();
    }
    const ratio = (window.devicePixelRatio || 1) * (quick && about.cells > 100000 ? 0.5 : 1);
    const [w, h] = size();
    const { x, y, scale, turn, tilt } = camera();
    const asked = scale > 0 ? { x, y, scale: scale * ratio } : {};
    const raster = (file, place) => binary("raster", { ...file, ...parameters, ...place, turn, tilt, width: Math.round(w * ratio), height: Math.round(h * ratio) });
    // The first decides from where all are seen.
    const first = await raster(files[0], asked);
    const { head } = first;
    const found = [first, ...(await Promise.all(files.slice(1).map((file) => raster(file, { x: head.x, y: head.y, scale: head.scale }))))];
    if (!alive()) return;
    const count = head.width * head.height;
    if (!(scale > 0)) now.state.camera = [head.x, head.y, head.scale / ratio, turn, tilt];
    else if (!(now.state.camera[2] > 0)) return; // all was asked for meanwhile
    const [hw, hh] = [head.width / 2 / head.scale, head.height / 2 / head.scale];
    panels.put(found.map(({ take }, k) => ({
      values: take(Float64Array, count), cells: take(Uint32Array, count), shades: about.flat ? null : take(Uint8Array, count), nx: head.width, ny: head.height,
      auto: [abouts[k].from, abouts[k].to, ...(abouts[k].positive ? [abouts[k].positive] : [])], box: [head.x - hw, head.x + hw, head.y - hh, head.y + hh],
    })));
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
    now.state.camera[0] = px + (x - px) * by;
    now.state.camera[1] = py + (y - py) * by;
    now.state.camera[2] = scale / by;
    quick();
  };
  const turn = (x, y) => {
    now.state.camera[3] += x;
    now.state.camera[4] = Math.min(Math.PI, Math.max(0, now.state.camera[4] + y));
    quick();
  };
  const all = () => { now.state.camera[2] = 0; read(); };
  const moved = (x, y, drag, event) => {
    if (about.flat || event.ctrlKey) {
      drag.camera ??= [...now.state.camera];
      now.state.camera[0] = drag.camera[0] + x;
      now.state.camera[1] = drag.camera[1] + y;
      quick();
    } else {
      turn((event.clientX - (drag.lastX ?? drag.x)) / 150, -(event.clientY - (drag.lastY ?? drag.y)) / 150);
      [drag.lastX, drag.lastY] = [event.clientX, event.clientY];
    }
  };
  panels.listen({ zoomed: zoom, moved, all });
  now.shown = {
    panels, picture: panels.first, draw, all, zoom: (by) => zoom(by), read,
    move: (x, y) => {
      if (!about?.flat) return turn(x, -y);
      const [l, r, b, t] = box();
      now.state.camera[0] += x * (r - l);
      now.state.camera[1] += y * (t - b);
      quick();
    },
  };
  const again = () => { about = null; read(); };
  const makeControls = () => {
    const planes = [["", "surface"], ["0", "x"], ["1", "y"], ["2", "z"]];
    const solid = whole.flat ? null : whole.bounds;
    const set = (next, then) => {
      cut = next;
      now.state.cut = cut ? [cut.axis, cut.at] : null;
      then();
    };
    const at = cut && solid ? el("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": "where it is cut" }) : null;
    const place = at ? el("span", { class: "at" }) : null;
    if (at) {
      const [from, to] = solid.map((end) => end[cut.axis]);
      const tell = () => (place.textContent = textOf(cut.at, (to - from) / 1000));
      at.value = 1000 * (cut.at - from) / (to - from);
      at.addEventListener("input", () => set({ axis: cut.axis, at: from + (at.value / 1000) * (to - from) }, () => { tell(); read(); }));
      tell();
    }
    put(
      recordSlider(changed(again)),
      columnChoice(),
      solid ? choice("cut", planes, cut ? String(cut.axis) : "", (axis) => {
        const middle = () => (solid[0][Number(axis)] + solid[1][Number(axis)]) / 2;
        now.state.camera = null;
        set(axis === "" ? null : { axis: Number(axis), at: middle() }, again);
      }) : null,
      at, place,
      colourChoice(), scaleControls(), besideChoice(able),
    );
  };
  read();
}
