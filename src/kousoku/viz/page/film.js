// A page with one episode: it plays by itself unless the reader asked for less motion, and answers to keys.
function film() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const made = playerOf(data, 1000 * data.seconds, Math.min(728 / data.width, 520 / data.height));
  const cut = data.left > 0 ? el("p", { class: "note" }, `The last ${whole(data.left)} steps are left out.`) : null;
  const keys = made.bar ? el("p", { class: "note keys" }, "Space plays and pauses; \u2190 and \u2192 go one step, Home and End to the ends.") : null;
  const heading = data.title ? el("h1", {}, data.title) : null;
  const page = document.getElementById("page");
  page.classList.add("film");
  page.replaceChildren(...[heading, made.stage, made.bar, keys, cut].filter(Boolean));
  document.addEventListener("keydown", made.key);
  document.documentElement.dataset.ready = "yes";
  if (made.bar && !matchMedia("(prefers-reduced-motion: reduce)").matches) made.start();
}

film();
