// The report: reads the data in the page, and puts the sections together.
import uplotStyle from "uplot/dist/uPlot.min.css";
import { configSection, header } from "./about";
import { Axis } from "./axis";
import { curveSection, lossSection } from "./curves";
import type { Report } from "./data";
import { filmSection } from "./film";
import { learnedSections } from "./learned";
import { sweepSection } from "./sweep";

export function page(): void {
  const data = JSON.parse(document.getElementById("data")?.textContent ?? "") as Report;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(uplotStyle);
  document.adoptedStyleSheets = [sheet];
  const axis = new Axis();
  const [learned, visits] = learnedSections(data);
  const sections = [
    header(data),
    learned,
    curveSection(data, axis),
    lossSection(data.losses, axis),
    sweepSection(data.sweep, data.colored, data.bins),
    visits,
    filmSection(data.player),
    configSection(data),
  ];
  document.getElementById("page")?.replaceChildren(...sections.filter((section) => section !== null));
  document.documentElement.dataset.ready = "yes";
}
