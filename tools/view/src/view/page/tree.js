// The tree of what is in the files.
import { el } from "./kit.js";

export class Tree {
  constructor(root, files, choose) {
    Object.assign(this, { root, files, choose, rows: [], chosen: null });
    this.show("");
  }

  show(filter) {
    this.rows = [];
    const parts = [];
    const wanted = filter.toLowerCase();
    this.files.forEach((file, f) => {
      parts.push(el("div", { class: "row file", title: file.name }, file.name.split("/").pop() || file.name));
      for (const fault of file.faults) parts.push(el("div", { class: "fault" }, fault));
      const seen = new Set();
      // Datasets stand in their groups, where the first of these is.
      const order = file.entries.map((entry, i) => ({ entry, i, folders: entry.name.split("/") }));
      const isNamed = ({ entry }) => entry.kind === "dataset" || entry.kind === "group";
      const roots = new Map();
      order.forEach((row, k) => {
        const root = isNamed(row) ? row.folders[0] : `${k} ${row.entry.name}`;
        if (!roots.has(root)) roots.set(root, []);
        roots.get(root).push(row);
      });
      for (const row of [...roots.values()].flat()) {
        const { entry, i, folders } = row;
        if (wanted && !entry.name.toLowerCase().includes(wanted)) continue;
        const isGroup = entry.kind === "group";
        let depth = 0;
        if (isNamed(row)) {
          const outer = isGroup && entry.name !== "/" ? folders : folders.slice(0, -1);
          outer.forEach((folder, d) => {
            const path = outer.slice(0, d + 1).join("/");
            if (!folder || seen.has(path)) return;
            seen.add(path);
            const group = file.entries.findIndex((other) => other.kind === "group" && other.name === path);
            parts.push(this.row(f, group, d, `${folder}/`, group >= 0 && file.entries[group].mesh ? "mesh" : ""));
          });
          if (isGroup && entry.name !== "/") continue;
          depth = outer.length;
        }
        const name = isNamed(row) && entry.name !== "/" ? folders[folders.length - 1] : entry.name || "(no name)";
        const records = entry.records > 1 ? `${entry.records} × ` : "";
        const kind = isNamed(row) ? "" : `${entry.kind}, `;
        parts.push(this.row(f, i, depth, name, `${records}${kind}${entry.words}`));
      }
      if (file.left_out) parts.push(el("div", { class: "fault" }, `${file.left_out} more sections are not shown`));
    });
    this.root.replaceChildren(...parts);
    this.mark(this.chosen);
  }

  row(f, i, depth, name, what) {
    const node = el("div", { class: "row", role: "treeitem", title: `${name}  ${what}` }, el("span", {}, name), el("span", { class: "what" }, what));
    node.style.paddingLeft = `${8 + 14 * depth}px`;
    if (i >= 0) {
      node.addEventListener("click", () => this.choose(f, i));
      this.rows.push({ f, i, node });
    }
    return node;
  }

  mark(chosen) {
    this.chosen = chosen;
    for (const { f, i, node } of this.rows) {
      const isThis = chosen && chosen.f === f && chosen.i === i;
      node.classList.toggle("chosen", Boolean(isThis));
      if (isThis) node.scrollIntoView({ block: "nearest" });
    }
  }

  // The next row, or one before.
  step(by) {
    const at = this.rows.findIndex(({ f, i }) => this.chosen && this.chosen.f === f && this.chosen.i === i);
    const row = this.rows[Math.min(this.rows.length - 1, Math.max(0, at + by))];
    if (row) this.choose(row.f, row.i);
  }
}
