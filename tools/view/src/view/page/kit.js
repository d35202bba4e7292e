// Small pieces that the others use. Names from files become text, never markup.

export function el(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "class") node.className = value;
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

async function fetched(path, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null) query.set(key, String(value));
  }
  // Spaces as %20, which the command decodes.
  const response = await fetch(`api/${path}?${query.toString().replaceAll("+", "%20")}`);
  if (!response.ok) throw new Error(await response.text());
  return response;
}

export async function ask(path, parameters = {}) {
  return (await fetched(path, parameters)).json();
}

// A head of JSON, and after it what `take` takes.
export async function binary(path, parameters) {
  const buffer = await (await fetched(path, parameters)).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let at = 4 + length;
  const take = (Kind, count) => {
    const found = new Kind(buffer, at, count);
    at += count * Kind.BYTES_PER_ELEMENT;
    return found;
  };
  return { head, take };
}

// Runs the last of the tasks that are given while one is running.
export function latest(failed) {
  let running = false;
  let next = null;
  const go = async (task) => {
    if (running) {
      next = task;
      return;
    }
    running = true;
    try {
      await task();
    } catch (error) {
      failed(error);
    }
    running = false;
    if (next) {
      const task = next;
      next = null;
      go(task);
    }
  };
  return go;
}

export const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// A canvas as large as the element around it, by the pixels of the screen.
export function fitted(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = style("--paper");
  context.fillRect(0, 0, width, height);
  return { context, width, height, ratio };
}
