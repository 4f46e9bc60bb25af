// One episode, frame by frame. The background is drawn again only where it changes.
function shapeNode([kind, color, ...at]) {
  if (kind === "r") return svg("rect", { x: at[0], y: at[1], width: at[2], height: at[3], rx: at[4] || null, fill: color });
  if (kind === "c") return svg("circle", { cx: at[0], cy: at[1], r: at[2], fill: color });
  if (kind === "l") return svg("line", { x1: at[0], y1: at[1], x2: at[2], y2: at[3], "stroke-width": at[4], stroke: color, "stroke-linecap": "round" });
  return svg("text", { x: at[0], y: at[1], "font-size": at[2], fill: color, "text-anchor": "middle", "dominant-baseline": "central" }, at[3]);
}

function centre([kind, , ...at]) {
  if (kind === "r") return [at[0] + at[2] / 2, at[1] + at[3] / 2];
  return kind === "c" ? [at[0], at[1]] : null;
}

// Where the shape went that moves most: its place in every frame, or nothing if no shape is there all the time.
function trail(frames) {
  let found = [], most = 1;
  for (let k = 0; k < frames[0].shapes.length; k += 1) {
    const places = frames.map((frame) => (frame.shapes[k]?.[0] === frames[0].shapes[k][0] ? centre(frame.shapes[k]) : null));
    const distinct = new Set(places.map(String)).size;
    if (places.every(known) && distinct > most) [found, most] = [places, distinct];
  }
  return found;
}

function playerSection(player) {
  if (!player) return null;
  const last = player.frames.length - 1, longer = Math.max(player.width, player.height);
  const scale = Math.min(64, Math.min(700, Math.max(460, 14 * longer)) / longer);
  const back = svg("g", {}), front = svg("g", {}), path = trail(player.frames);
  const way = path.length ? svg("polyline", { class: "trail", points: path.map((p) => p.join(",")).join(" ") }) : null;
  const root = svg("svg", { class: "scene", viewBox: `0 0 ${player.width} ${player.height}`, width: Math.round(player.width * scale), height: Math.round(player.height * scale), role: "img", "aria-label": "the episode as a picture" }, back, way, front);
  const scrub = el("input", { type: "range", min: 0, max: last, value: 0, id: "scrub", "aria-label": "step of the episode" });
  const label = el("output", { for: "scrub" }), play = el("button", { type: "button", class: "primary" });
  const state = { at: 0, drawn: -1, timer: null };
  const show = (i) => {
    state.at = Math.min(last, Math.max(0, i));
    const frame = player.frames[state.at];
    if (frame.background !== state.drawn) back.replaceChildren(...player.backgrounds[frame.background].map(shapeNode));
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
  const tick = () => (state.at < last ? show(state.at + 1) : pause());
  const start = () => {
    if (state.at === last) show(0);
    state.timer = setInterval(tick, Math.min(400, Math.max(60, 6000 / (last + 1))));
    play.replaceChildren("Pause");
  };
  play.addEventListener("click", () => (state.timer ? pause() : start()));
  scrub.addEventListener("input", () => { pause(); show(Number(scrub.value)); });
  const button = (text, name, to) => {
    const node = el("button", { type: "button", "aria-label": name }, text);
    node.addEventListener("click", () => { pause(); show(to()); });
    return node;
  };
  pause();
  show(0);
  const bar = el("div", { class: "playbar" }, play, button("\u2039", "one step back", () => state.at - 1), button("\u203a", "one step on", () => state.at + 1), scrub, label);
  const cut = player.left > 0 ? ` The last ${whole(player.left)} steps are left out.` : "";
  const lead = `One greedy episode of the ${player.who}.${way ? " The line is its whole way." : ""}${cut}`;
  return sectionOf("path", player.best ? "The best agent\u2019s path" : "An agent\u2019s path", lead, el("div", { class: "stage" }, root), last > 0 ? bar : null);
}
