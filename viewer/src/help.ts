// What keys and fingers do, as a dialog.
import { button, el } from "./dom";

const KEYS: [string, string][] = [
  ["Space", "play and pause"],
  ["\u2190 \u2192", "one frame back, one on"],
  ["Home End", "to the first and the last frame"],
  [", .", "slower, faster"],
  ["A D W S", "look from the left, right, higher, lower"],
  ["+ \u2212", "nearer, farther"],
  ["F", "follow the figure, or stay"],
  ["R", "the first view again"],
  ["0 1 \u2026 9", "look at all environments, or at one"],
  ["C", "contact points and forces"],
  ["T", "light or dark"],
  ["?", "this help"],
];

const POINTER: [string, string][] = [
  ["Drag", "look around"],
  ["Wheel, pinch", "nearer and farther"],
  ["Right button, Shift-drag, two fingers", "move the view"],
];

export function helpDialog(): HTMLDialogElement {
  const close = button("Close", "close the help", () => dialog.close());
  const dialog = el("dialog", { "aria-labelledby": "help-title" },
    el("div", { class: "top" }, el("h2", { id: "help-title" }, "Pointer and keys"), close),
    table(POINTER, "span"),
    table(KEYS, "kbd"),
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
