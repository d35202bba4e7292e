// What is shown as text: values, a section, the stream of a task.
import { put, recordSlider } from "./controls.js";
import { ask, el } from "./kit.js";
import { base, now, reading, stage, watch } from "./now.js";

// The beginning of a section, or of a stream; more of it on demand.
async function bytes(path, parameters) {
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

const asText = (path) => () => {
  const alive = watch();
  now.shown = { draw: () => {} };
  put(path === "values" ? recordSlider(now.show) : null);
  reading(alive, () => bytes(path, base()));
};
export const asBytes = asText("bytes");
export const asValues = asText("values");

export function stream() {
  const alive = watch();
  now.shown = { draw: () => {} };
  const input = el("input", { type: "number", min: 0, value: 0, "aria-label": "task" });
  const read = () => reading(alive, async () => {
    const found = await bytes("stream", { ...base(), task: Number(input.value) });
    input.max = found.tasks - 1;
  });
  input.addEventListener("change", read);
  put(el("label", {}, "task", input));
  read();
}
