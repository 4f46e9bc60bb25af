// What keys and fingers do, as a dialog.
import { button, el } from "../shared/dom";
import type { Picture } from "./picture";

const KEYS: [string, string][] = [
  ["Space", "play and pause"],
  ["\u2190 \u2192", "one frame back, one on"],
  ["Home End", "to the first and the last frame"],
  [", .", "slower, faster"],
  ["0 1 \u2026 9", "look at all environments, or at one"],
  ["T", "light or dark"],
  ["?", "this help"],
];

export function helpDialog({ pointer, keys }: Picture["help"], embedded: boolean): HTMLDialogElement {
  const own = KEYS.filter(([name]) => name !== "T" || !embedded);
  const close = button("Close", "close the help", () => dialog.close());
  const dialog = el("dialog", { "aria-labelledby": "help-title" },
    el("div", { class: "top" }, el("h2", { id: "help-title" }, pointer.length ? "Pointer and keys" : "Keys"), close),
    pointer.length ? table(pointer, "span") : null,
    table([...own.slice(0, 4), ...keys, ...own.slice(4)], "kbd"),
  );
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}

function table(rows: [string, string][], tag: "kbd" | "span"): HTMLElement {
  return el("dl", {}, ...rows.flatMap(([name, does]) => [
    el("dt", {}, ...(tag === "kbd" ? name.split(" ").map((key) => el("kbd", {}, key)) : [name])),
    el("dd", {}, does),
  ]));
}
