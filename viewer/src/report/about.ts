// The run itself: what it was and came to, and how to repeat it.
import { el, type Child } from "../shared/dom";
import type { Report } from "./data";
import { sectionOf } from "./parts";

const BRIEF = 25;
/** Letters of a headline number that fit its column at full size; one of more is smaller, not broken. */
const LONG = 11;

export function header(data: Report): HTMLElement {
  const status = el("span", { class: data.status === "finished" ? "status good" : "status warn" }, data.status);
  const when = data.started ? el("span", {}, String(data.started).replace("T", " ").replace("+00:00", " UTC")) : null;
  const numbers = data.headline.map(({ label, value, note }) =>
    el("div", {}, el("dt", {}, label), el("dd", { class: value.length > LONG ? "big long" : "big" }, value), note ? el("dd", { class: "note" }, note) : null),
  );
  return el("header", {},
    el("p", { class: "kicker" }, el("span", {}, "Kousoku run report"), status, when),
    el("h1", {}, data.title),
    el("p", { class: "sentence" }, data.sentence),
    el("dl", { class: "figures" }, numbers),
  );
}

export function configSection({ config, command }: Report): HTMLElement {
  const groups = config.map(({ title, rows }) =>
    el("div", { class: "group" }, el("h3", {}, title), el("table", {}, el("tbody", {}, rows.map(configRow)))),
  );
  return sectionOf("config",
    command ? "How to repeat this run" : "How this run was made",
    command ? "This command repeats the run." : null,
    command ? commandBlock(command) : null,
    el("div", { class: "groups" }, groups),
  );
}

function configRow([name, value]: [string, string]): HTMLElement {
  const head = el("th", { scope: "row", class: name.length < BRIEF ? "brief" : null }, breakable(name));
  return el("tr", {}, head, el("td", {}, value.includes("\n") ? el("pre", {}, value) : value));
}

function commandBlock(command: string): HTMLElement {
  const code = el("code", {}, command);
  const copy = el("button", { type: "button" }, "Copy");
  copy.addEventListener("click", () => {
    getSelection()?.selectAllChildren(code);
    // where the clipboard is refused the command is selected at least
    const copied = navigator.clipboard?.writeText(command) ?? Promise.reject(new Error("no clipboard"));
    copied.then(() => copy.replaceChildren("Copied"), () => copy.replaceChildren("Selected"));
  });
  return el("div", { class: "command" }, el("pre", { tabindex: 0 }, code), copy);
}

// A name that may be broken after a dot or a low line.
function breakable(name: string): Child[] {
  return name.split(/(?<=[._])/).flatMap((part) => [part, el("wbr")]);
}
