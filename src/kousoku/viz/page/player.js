// One episode, frame by frame. The background is drawn again only where it changes.
function shapeNode([kind, color, ...at]) {
  if (kind === "r") return svg("rect", { x: at[0], y: at[1], width: at[2], height: at[3], rx: at[4] || null, fill: color });
  if (kind === "c") return svg("circle", { cx: at[0], cy: at[1], r: at[2], fill: color });
  if (kind === "l") return svg("line", { x1: at[0], y1: at[1], x2: at[2], y2: at[3], "stroke-width": at[4], stroke: color, "stroke-linecap": "round" });
  if (kind === "g") return svg("polygon", { points: at.join(" "), fill: color });
  if (kind === "p") return svg("polyline", { points: at.slice(1).join(" "), fill: "none", "stroke-width": at[0], stroke: color, "stroke-linecap": "round", "stroke-linejoin": "round" });
  return svg("text", { x: at[0], y: at[1], "font-size": at[2], fill: color, "text-anchor": "middle", "dominant-baseline": "central" }, at[3]);
}

function centre([kind, , ...at]) {
  if (kind === "r") return [at[0] + at[2] / 2, at[1] + at[3] / 2];
  return kind === "c" ? [at[0], at[1]] : null;
}

// Where the shape went that moves most: its place in every frame, or nothing if no shape is there all the time, or if
// lines and areas move, which is no walk but a machine.
function trail(frames) {
  const drawn = frames.map((frame) => JSON.stringify(frame.shapes.filter(([kind]) => "lgp".includes(kind))));
  if (new Set(drawn).size > 1) return [];
  let found = [], most = 1;
  for (let k = 0; k < frames[0].shapes.length; k += 1) {
    const places = frames.map((frame) => (frame.shapes[k]?.[0] === frames[0].shapes[k][0] ? centre(frame.shapes[k]) : null));
    const distinct = new Set(places.map(String)).size;
    if (places.every(known) && distinct > most) [found, most] = [places, distinct];
  }
  return found;
}

// The picture, its controls, and what a key does to it: {stage, bar, key, start}; `scale` is pixels for each unit.
function playerOf(film, period, scale) {
  const last = film.frames.length - 1;
  const back = svg("g", {}), front = svg("g", {}), path = trail(film.frames);
  const way = path.length ? svg("polyline", { class: "trail", points: path.map((p) => p.join(",")).join(" ") }) : null;
  const root = svg("svg", { class: "scene", viewBox: `0 0 ${film.width} ${film.height}`, width: Math.round(film.width * scale), height: Math.round(film.height * scale), role: "img", "aria-label": "the episode as a picture" }, back, way, front);
  const scrub = el("input", { type: "range", min: 0, max: last, value: 0, id: "scrub", "aria-label": "step of the episode" });
  const label = el("output", { for: "scrub" }), play = el("button", { type: "button", class: "primary" });
  const state = { at: 0, drawn: -1, timer: null };
  const show = (i) => {
    state.at = Math.min(last, Math.max(0, i));
    const frame = film.frames[state.at];
    if (frame.background !== state.drawn) back.replaceChildren(...film.backgrounds[frame.background].map(shapeNode));
    state.drawn = frame.background;
    front.replaceChildren(...frame.shapes.map(shapeNode));
    scrub.value = state.at;
    label.replaceChildren(`step ${state.at} of ${last}`);
  };
  const pause = () => {
    clearInterval(state.timer);
    state.timer = null;
    play.replaceChildren("Play");
  };
  const go = (i) => {
    pause();
    show(i);
  };
  const tick = () => (state.at < last ? show(state.at + 1) : pause());
  const start = () => {
    if (state.at === last) show(0);
    state.timer = setInterval(tick, period);
    play.replaceChildren("Pause");
  };
  const toggle = () => (state.timer ? pause() : start());
  const steps = { " ": toggle, ArrowLeft: () => go(state.at - 1), ArrowRight: () => go(state.at + 1), Home: () => go(0), End: () => go(last) };
  const key = (event) => {
    const own = event.target === scrub ? event.key !== " " : event.target instanceof HTMLButtonElement && event.key === " ";
    if (own || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(steps, event.key)) return;
    event.preventDefault();
    steps[event.key]();
  };
  play.addEventListener("click", toggle);
  scrub.addEventListener("input", () => go(Number(scrub.value)));
  const button = (text, name, to) => {
    const node = el("button", { type: "button", "aria-label": name }, text);
    node.addEventListener("click", () => go(to()));
    return node;
  };
  go(0);
  const bar = el("div", { class: "playbar" }, play, button("\u2039", "one step back", () => state.at - 1), button("\u203a", "one step on", () => state.at + 1), scrub, label);
  return { stage: el("div", { class: "stage" }, root), bar: last > 0 ? bar : null, key, start, hasTrail: way !== null };
}

// In three dimensions the report has a still, which leads to the page that plays the episode.
function stillSection(player) {
  const title = player.best ? "The best agent\u2019s episode" : "An agent\u2019s episode";
  const picture = el("img", { src: player.still, class: "still", alt: `the ${player.who}, drawn in three dimensions` });
  const shown = player.page ? el("a", { href: player.page, class: "tofilm" }, picture, el("span", { class: "primary" }, "Play in three dimensions")) : picture;
  return sectionOf("path", title, `Out of one greedy episode of the ${player.who}.`, shown);
}

function playerSection(player) {
  if (!player) return null;
  if (player.still) return stillSection(player);
  const longer = Math.max(player.width, player.height);
  const scale = Math.max(400 / longer, Math.min(64, Math.min(700, Math.max(460, 14 * longer)) / longer));
  const made = playerOf(player, 1000 * player.seconds, scale);
  const cut = player.left > 0 ? ` The last ${whole(player.left)} steps are left out.` : "";
  const lead = `One greedy episode of the ${player.who}.${made.hasTrail ? " The line is its whole way." : ""}${cut}`;
  return sectionOf("path", player.best ? "The best agent\u2019s path" : "An agent\u2019s path", lead, made.stage, made.bar);
}
