// The page: reads the data, and puts the sections together.
function pageHeader(data) {
  const status = el("span", { class: data.status === "finished" ? "status good" : "status warn" }, data.status);
  const when = data.started ? el("span", {}, String(data.started).replace("T", " ").replace("+00:00", " UTC")) : null;
  const numbers = data.figures.map((f) => el("div", {}, el("dt", {}, f.label), el("dd", { class: "big" }, f.value), f.note ? el("dd", { class: "note" }, f.note) : null));
  return el("header", {}, el("p", { class: "kicker" }, el("span", {}, "Kousoku run report"), status, when), el("h1", {}, data.title), el("p", { class: "sentence" }, data.sentence), el("dl", { class: "figures" }, numbers));
}

// Mean and interval of every setting on one scale.
function intervalMark(row, domain, color) {
  const width = 200, place = (v) => 8 + ((Math.min(domain[1], Math.max(domain[0], v)) - domain[0]) / (domain[1] - domain[0] || 1)) * (width - 16);
  const [mean, low, high] = row.score;
  const root = svg("svg", { class: "interval", viewBox: `0 0 ${width} 16`, width, height: 16, "aria-hidden": "true" }, svg("line", { class: "grid", x1: 8, x2: width - 8, y1: 8, y2: 8 }));
  if (known(low)) root.append(svg("line", { class: `${seriesClass(color)} range`, x1: place(low), x2: place(high), y1: 8, y2: 8 }));
  if (known(mean)) root.append(svg("circle", { class: `${seriesClass(color)} spot`, cx: place(mean), cy: 8, r: 5 }));
  return root;
}

function sweepSection(sweep, colored) {
  if (!sweep) return null;
  const all = robustExtent(sweep.rows.flatMap((row) => row.score));
  const hasError = sweep.rows.some((row) => known(row.error));
  const right = (text) => el("th", { scope: "col", class: "number" }, text);
  const head = el("tr", {}, sweep.names.map(right), right("agents"), right(`${sweep.statistic} ${sweep.score}`), right("95% interval"), el("th", { scope: "col", class: "wide" }, "on one scale"), hasError ? right("value error") : null, el("th", { scope: "col" }, el("span", { class: "hidden" }, "rank")));
  const rows = sweep.rows.map((row, rank) => {
    const [mean, low, high] = row.score;
    const cell = (text) => el("td", { class: "number" }, text);
    return el("tr", { class: rank === 0 ? "best" : null }, row.values.map((v) => cell(known(v) ? String(v) : DASH)), cell(whole(row.lanes)), cell(short(mean)), cell(known(low) ? `${short(low)} to ${short(high)}` : DASH), el("td", { class: "wide" }, intervalMark(row, all, rank < colored ? rank : -1)), hasError ? cell(short(row.error)) : null, el("td", {}, rank === 0 ? el("span", { class: "badge" }, "best") : null));
  });
  const left = sweep.left > 0 ? el("p", { class: "note" }, `${whole(sweep.left)} settings with lower scores are left out.`) : null;
  const lead = `Every setting of the sweep, sorted by its ${sweep.statistic} ${sweep.score}.${hasError ? " Value error is the largest error of a state's value, averaged over the agents." : ""}`;
  return sectionOf("sweep", "Settings compared", lead, el("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "settings compared" }, el("table", { class: "sweep" }, el("thead", {}, head), el("tbody", {}, rows))), left);
}

function commandBlock(command) {
  if (!command) return null;
  const code = el("code", {}, command), button = el("button", { type: "button" }, "Copy");
  button.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    navigator.clipboard?.writeText(command).then(() => button.replaceChildren("Copied"), () => button.replaceChildren("Selected"));
  });
  return el("div", { class: "command" }, el("pre", { tabindex: 0 }, code), button);
}

// A name that may be broken after a dot or a low line.
function breakable(name) {
  return name.split(/(?<=[._])/).flatMap((part) => [part, el("wbr")]);
}

function configSection(data) {
  const groups = data.config.map((group) => el("div", { class: "group" }, el("h3", {}, group.title), el("table", {}, el("tbody", {}, group.rows.map(([name, value]) => el("tr", {}, el("th", { scope: "row", class: name.length < 25 ? "brief" : null }, breakable(name)), el("td", {}, value.includes("\n") ? el("pre", {}, value) : value)))))));
  const lead = data.command ? "This command repeats the run." : "";
  return sectionOf("config", data.command ? "How to repeat this run" : "How this run was made", lead, commandBlock(data.command), el("div", { class: "groups" }, groups));
}

function learnedSections(data) {
  if (!data.tables) return [null, null];
  if (data.tables.tooLarge) return [sectionOf("learned", "What was learned", `${data.tables.tooLarge} The picture beside this file shows them.`), null];
  return data.tables.bandit ? [banditSection(data.tables), null] : mapSections(data.tables, data.bins);
}

function main() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [learnedSection, visitSection] = learnedSections(data);
  const parts = [pageHeader(data), learnedSection, curveSection(data.curves), lossSection(data.losses), sweepSection(data.sweep, data.colored), visitSection, playerSection(data.player), configSection(data)];
  document.getElementById("page").replaceChildren(...parts.filter(Boolean));
  document.documentElement.dataset.ready = "yes";
}

main();
