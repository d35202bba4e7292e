// Pictures of values at pixels, with a bar of colours.
import { el, fitted, style } from "./kit.js";
import { bar, frame, place, placed, scaleOf } from "./axes.js";

const NONE = [0xc4, 0xc4, 0xc4];

// What is drawn: `values`, `nx` by `ny`, the first row above; `box`, where that is: [left, right, bottom, top] in the units of the axes;
// `cells`, to draw edges, and `shades`; `auto`: numbers that its scale has to have.
export class Picture {
  constructor(stage, below, pointer, title) {
    Object.assign(this, { stage, below, pointer, title, canvas: el("canvas"), data: null, profile: null });
    stage.replaceChildren(this.canvas);
    // Those whose profiles are drawn with this one's; what stands for the values of an index; what else a new profile does.
    Object.assign(this, { peers: [this], words: (k) => `value ${this.data.values[k]}`, profiled: () => {} });
    this.listen();
  }

  // The frame of the picture, of this aspect (width by height in pixels), if it has one.
  area(aspect) {
    const { width, height } = this.canvas.getBoundingClientRect();
    const top = this.title ? 28 : 12;
    let [w, h] = [Math.max(60, width - 100 - 134), Math.max(60, height - top - 52)];
    if (aspect) [w, h] = w / h > aspect ? [h * aspect, h] : [w, w / aspect];
    return [100, top, Math.round(w), Math.round(h)];
  }

  // view: box, aspect, xTicks(n), yTicks(n), xName, yName, label, colours, auto, log, limits, text(point, words, k)
  draw(view) {
    this.view = view;
    const { context, ratio } = fitted(this.canvas);
    const area = this.area(view.aspect);
    this.at = area;
    const [x, y, w, h] = area;
    const data = this.data;
    const auto = view.auto ?? [];
    let scale = scaleOf(auto, view.log, view.limits);
    if (scale && view.middle && !view.log && view.limits.every((end) => end === null)) {
      const end = Math.max(Math.abs(scale.from), Math.abs(scale.to));
      scale = { ...scale, from: -end, to: end, log: false };
    }
    const trouble = scale ? "" : "no number above 0 for a logarithm";
    scale ??= scaleOf(auto, false, view.limits);
    this.scale = scale;
    if (data) {
      context.save();
      context.beginPath();
      context.rect(x, y, w, h);
      context.clip();
      context.imageSmoothingEnabled = false;
      const [left, right, bottom, top] = data.box;
      const [l, r, b, t] = view.box;
      const px = (value) => x + ((value - l) / (r - l)) * w;
      const py = (value) => y + ((t - value) / (t - b)) * h;
      context.drawImage(this.painted(data, scale, view, ratio), px(left), py(top), px(right) - px(left), py(bottom) - py(top));
      context.restore();
    }
    frame(context, area, view.xTicks(w / 80), view.xName, view.yTicks(Math.max(4, h / 40)), view.yName, false);
    bar(context, area, view.colours, scale, view.label);
    if (this.title) {
      context.textAlign = "left";
      context.fillText(this.title, x, 14, w + 110);
    }
    if (this.profile) this.drawProfile(context);
    if (trouble) this.pointer.textContent = trouble;
  }

  // The colours of all values.
  painted(data, scale, view) {
    const key = [scale.from, scale.to, scale.log, view.colours === data.colours].join();
    if (data.image && data.key === key) return data.image;
    const { nx, ny, values, cells, shades } = data;
    const image = new ImageData(nx, ny);
    const pixels = image.data;
    const paper = style("--paper");
    const empty = cells ? [1, 3, 5].map((k) => parseInt(paper.length === 4 ? paper[(k + 1) / 2].repeat(2) : paper.slice(k, k + 2), 16)) : NONE;
    for (let k = 0; k < values.length; ++k) {
      const value = values[k];
      let colour = cells && !cells[k] ? empty : NONE;
      if (value === value) {
        const at = place(scale, value);
        colour = view.colours[at > 0 ? Math.min(255, Math.floor(at * 256)) : 0];
        if (scale.log && value <= 0) colour = NONE;
      }
      const shade = shades && cells[k] ? shades[k] / 255 : 1;
      pixels[4 * k] = colour[0] * shade;
      pixels[4 * k + 1] = colour[1] * shade;
      pixels[4 * k + 2] = colour[2] * shade;
      pixels[4 * k + 3] = 255;
    }
    if (cells) this.edges(data, pixels);
    const canvas = new OffscreenCanvas(nx, ny);
    canvas.getContext("2d").putImageData(image, 0, 0);
    data.image = canvas;
    data.colours = view.colours;
    data.key = [scale.from, scale.to, scale.log, true].join();
    return canvas;
  }

  // Lines between cells, unless these are as small as pixels.
  edges({ cells, nx, ny }, pixels) {
    const found = [];
    for (let k = 0; k < cells.length; ++k) {
      const right = (k + 1) % nx && cells[k + 1] !== cells[k];
      if (right || (k + nx < nx * ny && cells[k + nx] !== cells[k])) found.push(k);
    }
    if (found.length > cells.length / 4) return;
    for (const k of found) for (let c = 0; c < 3; ++c) pixels[4 * k + c] *= 0.625;
  }

  // The point of the axes at a place of the screen; null outside.
  point(event, clamp = false) {
    const bounds = this.canvas.getBoundingClientRect();
    const [x, y, w, h] = this.at;
    let [across, down] = [(event.clientX - bounds.left - x) / w, (event.clientY - bounds.top - y) / h];
    if (clamp) [across, down] = [across, down].map((part) => Math.min(1, Math.max(0, part)));
    if (across < 0 || across > 1 || down < 0 || down > 1) return null;
    const [l, r, b, t] = this.view.box;
    return [l + across * (r - l), t - down * (t - b)];
  }

  // Which of the values is at a point; -1 outside.
  index([px, py]) {
    const { box, nx, ny } = this.data;
    const column = Math.floor(((px - box[0]) / (box[1] - box[0])) * nx);
    const row = Math.floor(((box[3] - py) / (box[3] - box[2])) * ny);
    return column < 0 || row < 0 || column >= nx || row >= ny ? -1 : row * nx + column;
  }

  listen() {
    const canvas = this.canvas;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      const point = this.data && this.point(event);
      if (!point) return;
      canvas.setPointerCapture(event.pointerId);
      drag = { point, x: event.clientX, y: event.clientY, box: [...this.view.box], line: event.shiftKey };
      if (event.shiftKey) {
        this.profile = [point, point];
        this.profiled();
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.data) return;
      this.tell(event);
      if (!drag) return;
      if (drag.line) {
        this.profile[1] = this.point(event, true);
        this.draw(this.view);
        return;
      }
      const [, , w, h] = this.at;
      const [l, r, b, t] = drag.box;
      this.moved((-(event.clientX - drag.x) / w) * (r - l), ((event.clientY - drag.y) / h) * (t - b), drag, event);
    });
    canvas.addEventListener("pointerup", () => (drag = null));
    canvas.addEventListener("wheel", (event) => {
      const point = this.data && this.point(event);
      if (!point) return;
      event.preventDefault();
      this.zoomed(1.0015 ** event.deltaY, point);
    }, { passive: false });
    canvas.addEventListener("dblclick", () => {
      this.profile = null;
      this.below.replaceChildren();
      this.all();
    });
  }

  tell(event) {
    const point = this.point(event);
    const k = point && this.data ? this.index(point) : -1;
    this.pointer.textContent = k < 0 ? "" : this.view.text(point, this.words(k), k);
  }

  // The values along a line, which was drawn with shift.
  drawProfile(context) {
    const [x, y, w, h] = this.at;
    const [l, r, b, t] = this.view.box;
    const [from, to] = this.profile;
    const pixel = ([px, py]) => [x + ((px - l) / (r - l)) * w, y + ((t - py) / (t - b)) * h];
    const [a, z] = [pixel(from), pixel(to)];
    for (const [colour, width] of [["#fff", 3], ["#000", 1.2]]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(...a);
      context.lineTo(...z);
      context.stroke();
    }
    const count = Math.max(2, Math.min(2000, Math.round(Math.hypot(z[0] - a[0], z[1] - a[1]) * 2)));
    const along = ({ data }) => Float64Array.from({ length: count + 1 }, (_, k) => {
      const part = k / count;
      const at = data ? this.index([from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1])]) : -1;
      return at < 0 ? NaN : data.values[at];
    });
    const all = this.peers.map(along);
    this.profileValues = all[this.peers.indexOf(this)];
    if (!this.below.firstChild) this.below.replaceChildren(el("canvas"));
    const drawn = fitted(this.below.firstChild);
    const area = [100, 8, drawn.width - 100 - 134, drawn.height - 8 - 40];
    const joined = all.flatMap((values) => Array.from(values));
    const up = scaleOf(joined, this.view.log) ?? scaleOf(joined, false);
    frame(drawn.context, area, [{ at: 0, text: "begin" }, { at: 1, text: "end" }], "profile along the line", placed(up, 3), "", true);
    all.forEach((values, n) => curve(drawn.context, area, Array.from(values, (value, k) => [k / count, place(up, value)]), colourOf(n)));
    if (all.length > 1) legend(drawn.context, area, this.peers.map(({ title }) => title));
  }
}

const CURVES = ["#c2571a", "#2a8f4f", "#8a4fb8"];
const colourOf = (n) => (n ? CURVES[(n - 1) % CURVES.length] : style("--mark"));

// Which curve is which.
function legend(context, [x, y, w], names) {
  context.textAlign = "right";
  context.textBaseline = "middle";
  names.forEach((name, n) => {
    context.fillStyle = colourOf(n);
    context.fillText(name, x + w - 8, y + 12 + 16 * n, w - 16);
  });
}

// A line through places from 0 to 1, with gaps.
function curve(context, [x, y, w, h], points, colour = colourOf(0)) {
  context.save();
  context.beginPath();
  context.rect(x, y - 1, w, h + 2);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1.4;
  context.beginPath();
  let isDown = false;
  for (const [across, up] of points) {
    if (!Number.isFinite(up)) {
      isDown = false;
      continue;
    }
    const [px, py] = [x + across * w, y + h - up * h];
    if (isDown) context.lineTo(px, py);
    else {
      context.moveTo(px - 0.5, py);
      context.lineTo(px, py);
    }
    isDown = true;
  }
  context.stroke();
  context.restore();
}
