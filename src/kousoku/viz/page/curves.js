// The sections that the run's curves fill: learning curves, the updates' losses, the best agent's episode.
function howDrawn(curves) {
  if (curves.agents === 1) return "";
  const several = curves.charts[0].series.length > 1, whose = several ? "the agents of each setting" : `${whole(curves.agents)} agents`;
  const thin = curves.charts[0].lanes.length > 1 ? ", thin lines single agents" : "";
  if (!curves.interval) return `${several ? "Lines are means" : "The thick line is the mean"} over ${whose}${thin}: too few for an interval. `;
  const iqm = curves.statistic === "IQM";
  const line = iqm ? `interquartile means (IQM: the mean of the middle half) over ${whose}` : `means over ${whose}`;
  return `Lines are ${line}, bands their 95% intervals (${iqm ? "stratified bootstrap" : "Student\u2019s t"})${thin}. `;
}

function curveSection(curves) {
  if (!curves) return null;
  const [first, ...others] = curves.charts;
  const evals = first.evals ? "Dots are greedy evaluations during training. " : "";
  const flat = others.find((chart) => chart.title === "Return" && first.title === "Episode length");
  const why = flat ? `Every episode returned ${short(flat.series[0].mean.find(known))}, so what shows the learning is how short the episodes get. ` : "";
  const small = others.map((chart, i) => el("div", { class: "half" }, el("h3", {}, chart.title), makeChart(chart, `other${i}`, 240)));
  const choices = first.seconds ? el("div", { class: "controls" }, segments("axis", "horizontal axis", [["step", "Steps"], ["seconds", "Time"]], "step", chooseAxis)) : null;
  return sectionOf("curves", "Learning curves", `${howDrawn(curves)}${evals}${why}Point at a curve to read it.`, choices, el("h3", {}, first.title), makeChart(first, "first", 380), small.length ? el("div", { class: "halves" }, small) : null);
}

// Small charts that are read together: a pointer on one shows all values of the same report.
function lossSection(losses) {
  if (!losses) return null;
  const group = [], settings = losses.charts[0].series;
  const key = settings.length > 1 ? el("ul", { class: "curvekey several" }, settings.filter((s) => s.color >= 0).map((s) => el("li", {}, swatch(s), el("span", { class: "name" }, s.name)))) : null;
  const numbers = settings.length > 1 ? " Numbers are the best setting\u2019s." : "";
  const whose = losses.agents === 1 ? "" : ` Lines are ${losses.statistic === "IQM" ? "interquartile means" : "means"}${losses.charts[0].lanes.length > 1 ? ", thin lines single agents" : ""}.`;
  const charts = losses.charts.map((chart, i) => el("div", { class: "third" }, makeChart(chart, `loss${i}`, 190, { group, small: true })));
  return sectionOf("losses", "Losses", `What the updates told about themselves, over the same axis as above, and what is usual in a run that learns.${whose}${numbers}`, key, el("div", { class: "thirds" }, charts));
}

// The player is a script of its own; see the repository's folder `viewer`. In a page it has a style sheet of its own.
function playerSection(player) {
  if (!player) return null;
  const host = el("div", { class: "film" });
  kousokuPlayer.mount(host, player.film, player.style);
  return sectionOf("path", player.best ? "The best agent\u2019s episode" : "An agent\u2019s episode", `One greedy episode of the ${player.who}.`, host);
}
