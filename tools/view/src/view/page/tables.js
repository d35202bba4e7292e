// Tables, of which the cells are read that are seen; and the bytes of sections.
import { ask, el } from "./kit.js";

const HEIGHT = 22;
// Browsers have no higher elements.
const MOST_HEIGHT = 8_000_000;

// A table of rows and columns: how many of each, what stands above and before them, `cells(y0, y1, x0, x1)`, how wide a column is, and the one before the rows.
export function table(stage, { rows, columns, rowHead, columnHead, cells, width, first = Math.min(width, 110) }, failed) {
  const scale = Math.max(1, (rows * HEIGHT) / MOST_HEIGHT);
  const space = el("div", { class: "space" });
  space.style.height = `${Math.min(rows * HEIGHT, MOST_HEIGHT) + HEIGHT}px`;
  space.style.width = `${first + columns * width}px`;
  const grid = el("div", { class: "grid", tabindex: "0" }, space);
  stage.replaceChildren(grid);
  let wanted = 0;
  const show = async () => {
    const mine = ++wanted;
    const y0 = Math.min(Math.max(0, rows - 1), Math.floor((grid.scrollTop * scale) / HEIGHT));
    const y1 = Math.min(rows, y0 + Math.ceil(grid.clientHeight / HEIGHT) + 1);
    const x0 = Math.min(Math.max(0, columns - 1), Math.max(0, Math.floor(grid.scrollLeft / width) - 1));
    const x1 = Math.min(columns, x0 + Math.ceil(grid.clientWidth / width) + 1);
    let found;
    try {
      found = await cells(y0, y1, x0, x1);
    } catch (error) {
      failed(error);
      return;
    }
    if (mine !== wanted) return;
    const nodes = [];
    const add = (text, row, column, head, wide = width) => {
      const node = el("div", { class: head ? "cell head" : "cell", title: text }, text);
      node.style.top = `${row}px`;
      node.style.left = `${column}px`;
      node.style.width = `${wide}px`;
      nodes.push(node);
    };
    const [top, left] = [grid.scrollTop, grid.scrollLeft];
    for (let y = y0; y < y1; ++y) {
      for (let x = x0; x < x1; ++x) add(found(y, x), top + (y - y0 + 1) * HEIGHT, first + x * width, false);
      add(rowHead(y), top + (y - y0 + 1) * HEIGHT, left, true, first);
    }
    for (let x = x0; x < x1; ++x) add(columnHead(x), top, first + x * width, true);
    add("", top, left, true, first);
    space.replaceChildren(...nodes);
  };
  grid.addEventListener("scroll", () => requestAnimationFrame(show));
  show();
  return show;
}

// The beginning of a section, or of a stream; more of it on demand.
export async function bytes(stage, path, parameters) {
  const text = el("pre");
  stage.replaceChildren(text);
  const more = async (from) => {
    const found = await ask(path, { ...parameters, from });
    text.append(found.text ?? found.hex);
    if (found.to < found.all && found.to > from) {
      const button = el("button", { onclick: () => { button.remove(); more(found.to); } }, `more (${found.to} of ${found.all})`);
      text.append("\n", button);
    }
    return found;
  };
  return more(0);
}
