// One panel of states: its cells, names of rows and columns, and a cursor that pointer and keys move.
import { el, svg } from "../shared/dom";
import { CELL, Cells, fitted, sizeOf, type Size } from "./cells";
import type { Panel, Tables } from "./data";
import type { Layer } from "./layers";

const SMALLEST_ARROW = 5;
// pixels of a cell, and columns of a map, into which numbers fit
const LEGIBLE = 40;
const MOST_COLUMNS = 14;
const STEPS: Record<string, [rows: number, columns: number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

interface Options {
  // pixels that the map may be wide and high, and that a cell may be
  room: number;
  cell: number;
  numbers: boolean;
  // told where the pointer or the cursor is
  onCell(row: number, column: number): void;
}

export class PanelMap {
  readonly node: HTMLElement;
  private readonly size: Size;
  private readonly scale: number;
  private readonly root: SVGSVGElement;
  private readonly cursor = svg("rect", { class: "cursor", width: CELL, height: CELL, rx: 3 });
  private content = svg("g");
  private row = 0;
  private column = 0;

  constructor(
    private readonly panel: Panel,
    private readonly data: Tables,
    private readonly options: Options,
  ) {
    const size = (this.size = sizeOf(panel));
    const { room, cell } = options;
    this.scale = Math.min(cell, (room / size.width) * CELL, (room / size.height) * CELL) / CELL;
    this.root = svg("svg", {
      class: `map${size.columns > 8 ? " dense" : ""}`,
      viewBox: `0 0 ${size.width} ${size.height}`,
      width: Math.round(size.width * this.scale),
      height: Math.round(size.height * this.scale),
      tabindex: 0,
      role: "application",
      "aria-label": `${panel.title || "map"}: ${size.rows} rows, ${size.columns} columns; arrow keys move over the cells`,
    });
    this.root.append(this.content, ticksOf(panel, size), this.cursor);
    this.node = el("figure", { class: "panel" }, panel.title ? el("figcaption", {}, panel.title) : null, this.root);
    this.listen();
  }

  place(row: number, column: number): void {
    const { size, cursor } = this;
    this.row = Math.min(size.rows - 1, Math.max(0, row));
    this.column = Math.min(size.columns - 1, Math.max(0, column));
    cursor.setAttribute("x", String(size.left + this.column * CELL));
    cursor.setAttribute("y", String(this.row * CELL));
  }

  mark(on: boolean): void {
    this.cursor.classList.toggle("shown", on);
  }

  draw(layer: Layer): void {
    const { size, data, scale, options } = this;
    const numbers = layer.numbers && options.numbers && size.columns <= MOST_COLUMNS && scale * CELL >= LEGIBLE;
    const greedy = scale * CELL >= SMALLEST_ARROW ? layer.greedy : null;
    const fresh = new Cells(size, data, { ...layer, numbers, greedy }).draw(this.panel);
    this.content.replaceWith(fresh);
    this.content = fresh;
  }

  private listen(): void {
    const { root } = this;
    root.addEventListener("pointermove", (event) => this.point(event));
    root.addEventListener("pointerdown", (event) => this.point(event));
    root.addEventListener("focus", () => this.go(this.row, this.column));
    root.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      this.go(this.row + step[0], this.column + step[1]);
    });
  }

  private go(row: number, column: number): void {
    this.place(row, column);
    this.options.onCell(this.row, this.column);
  }

  private point(event: PointerEvent): void {
    const { root, size } = this;
    const box = root.getBoundingClientRect();
    const column = Math.floor((((event.clientX - box.left) / box.width) * size.width - size.left) / CELL);
    const row = Math.floor((((event.clientY - box.top) / box.height) * size.height) / CELL);
    if (column >= 0 && column < size.columns && row >= 0 && row < size.rows) this.go(row, column);
  }
}

function ticksOf(panel: Panel, size: Size): SVGGElement {
  const bottom = size.rows * CELL;
  const text = (name: string | null, x: number, y: number, label: string) =>
    svg("text", { class: name, x, y, "font-size": fitted(label, 14) }, label);
  const rows = panel.rowTicks.map((label, row) => text("end", size.left - 7, (row + 0.5) * CELL, label));
  const columns = panel.columnTicks.map((label, column) => text(null, size.left + (column + 0.5) * CELL, bottom + 15, label));
  const across = { x: size.left + (size.columns * CELL) / 2, y: size.height - 10, "font-size": 14 };
  const upright = { x: 11, y: bottom / 2, "font-size": 14, transform: `rotate(-90 11 ${bottom / 2})` };
  return svg("g", { class: "ticks" },
    rows,
    columns,
    panel.columnLabel ? svg("text", across, panel.columnLabel) : null,
    panel.rowLabel ? svg("text", upright, panel.rowLabel) : null,
  );
}
