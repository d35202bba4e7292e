// A picture of each file, with one scale, and their differences; of one file, one picture.
import { el } from "./kit.js";
import { scaleOf } from "./axes.js";
import { fileName, now, pointer, stage, below } from "./now.js";
import { Picture } from "./picture.js";

export class Panels {
  // sources: what the requests of the files begin with.
  constructor(sources) {
    const names = sources.map(({ file }) => fileName(file));
    this.names = names.length > 1 ? [...names, ...names.slice(1).map((name) => `${name} − ${names[0]}`)] : [""];
    this.count = names.length;
    this.ends = [];
    const cells = this.names.map(() => el("div"));
    stage.replaceChildren(el("div", { class: "panels" }, ...cells));
    this.pictures = cells.map((cell, k) => new Picture(cell, below, pointer, this.names[k]));
    for (const picture of this.pictures.slice(0, this.count)) picture.peers = this.pictures.slice(0, this.count);
    for (const picture of this.pictures) {
      picture.words = (k) => this.pictures.map(({ data }, j) => `${this.names[j] || "value"} ${data.values[k]}`).join("   ");
      picture.profiled = () => {
        for (const other of this.pictures) if (other !== picture && other.profile) {
          other.profile = null;
          other.draw(other.view);
        }
      };
    }
  }

  get first() {
    return this.pictures[0];
  }

  // What the pointer and the keys do to all of them.
  listen(actions) {
    for (const picture of this.pictures) Object.assign(picture, actions);
  }

  // The data of each file; `auto` is what its scale is made of: for differences found anew, or kept. They are taken where both have a number.
  put(found, isAnew = true) {
    const [one] = found;
    found.forEach((data, k) => (this.pictures[k].data = data));
    found.slice(1).forEach((data, k) => {
      const values = data.values.map((value, at) => value - one.values[at]);
      const ends = scaleOf(values, false);
      if (isAnew || !this.ends[k]) this.ends[k] = [ends.from, ends.to];
      // An edge is where either mesh has one.
      const cells = data.cells?.map((cell, at) => cell && one.cells[at] && ((cell * 65537 + one.cells[at]) >>> 0 || 1));
      this.pictures[this.count + k].data = { ...data, values, cells, auto: this.ends[k] };
    });
  }

  draw(view) {
    if (!this.first.data) return this.first.draw(view);
    const auto = this.pictures.slice(0, this.count).flatMap(({ data }) => data.auto);
    this.pictures.forEach((picture, k) => {
      if (k < this.count) picture.draw({ ...view, auto });
      else picture.draw({ ...view, auto: picture.data.auto, colours: now.maps.diverging, middle: true, log: false, limits: [null, null] });
    });
  }
}
