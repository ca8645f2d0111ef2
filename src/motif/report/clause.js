// One MATCH_RECOGNIZE clause of the page: its charts, controls and table.

const FIRST_MATCHES = 15; // a key with many more opens on these

// -- one clause ----------------------------------------------------------------------------------

class Clause {
  constructor(section, data) {
    this.data = data;
    this.find = (selector) => section.querySelector(selector);
    this.home = this.find(".chart.rows");
    this.byRow = !data.axis;
    this.select = this.find("select.panel");
    data.panels.forEach((panel, index) => this.select.append(node("option", { value: index }, this.title(panel))));
    this.find("[data-do=scale]").hidden = !data.axis;
    this.select.parentElement.hidden = !data.panels.length;
    this.select.addEventListener("change", () => this.choose(Number(this.select.value)));
    for (const button of section.querySelectorAll("[data-do]")) button.addEventListener("click", () => this.act(button.dataset.do));
    for (const radio of section.querySelectorAll("input[type=radio]")) radio.addEventListener("change", () => this.drawTable());
    this.home.addEventListener("pointermove", (event) => this.hover(event));
    this.home.addEventListener("pointerleave", () => this.leave());
    this.home.addEventListener("blur", () => this.leave());
    this.home.addEventListener("keydown", (event) => this.key(event));
    const overview = this.find(".overview");
    for (const kind of ["pointerdown", "pointermove"]) overview.addEventListener(kind, (event) => this.drag(event));
    this.choose(0);
  }

  drag(event) {
    if (!this.overview || !event.buttons) return;
    const middle = this.overview(event.clientX), wide = this.view[1] - this.view[0];
    this.zoom(middle - wide / 2, middle + wide / 2);
  }

  title(panel) {
    const found = panel.found;
    return `${panel.name} (${found.toLocaleString("en-US")} match${found === 1 ? "" : "es"})`;
  }

  choose(index) {
    this.panel = this.data.panels[index];
    this.select.value = index;
    this.current = null;
    if (this.panel) this.useScale();
    this.draw();
    this.drawTable();
  }

  useScale() {
    const known = this.panel.x && this.panel.x.every((value) => value !== null);
    this.axis = this.byRow || !known ? null : this.data.axis;
    this.x = this.axis ? this.panel.x : this.panel.labels.map((_, index) => this.panel.first + index);
    const least = Math.min(...this.x), most = Math.max(...this.x), margin = (most - least || 1) * 0.01;
    this.all = [least - margin, most + margin];
    this.view = this.opening();
  }

  opening() {
    const { spans } = this.panel, shown = spans[FIRST_MATCHES - 1];
    if (spans.length < 1.5 * FIRST_MATCHES) return this.all;
    const ends = [this.x[0], this.x[shown[2]]], low = Math.min(...ends), high = Math.max(...ends), margin = (high - low) * 0.02;
    return [Math.max(low - margin, this.all[0]), Math.min(high + margin, this.all[1])];
  }

  draw() {
    const { data, panel } = this;
    this.bars();
    const what = data.y ? `${data.y}` : "By variable";
    this.find(".what").textContent = panel ? `${what}${panel.key === null ? "" : ` of ${panel.key}`}, ${this.range()}` : what;
    if (!panel) return this.home.replaceChildren(node("p", { class: "empty" }, `There are no ${data.rows}.`));
    const [picture, frame] = canvas(this.home, 350, what, data.y ? 64 : 110);
    this.picture = picture;
    this.sx = drawXAxis(picture, frame, ...this.view, this.axis);
    this.sy = data.y ? this.valueAxis(picture, frame) : this.laneAxis(picture, frame);
    const clip = `clip-${Math.random().toString(36).slice(2)}`;
    picture.append(svg("clipPath", { id: clip }, svg("rect", { x: frame.left, y: frame.top - 6, width: frame.right - frame.left, height: frame.bottom - frame.top + 12 })));
    const inside = svg("g", { "clip-path": `url(#${clip})` });
    this.drawSpans(inside, frame);
    if (data.y) inside.append(svg("path", { class: "path", d: this.line(this.sx, this.sy) }));
    this.drawDots(inside);
    this.marker = svg("g");
    inside.append(this.marker);
    picture.append(inside);
    this.frame = frame;
    this.drawOverview();
  }

  drawOverview() {
    const home = this.find(".overview");
    home.hidden = !this.data.y;
    if (home.hidden) return;
    const [picture, frame] = canvas(home, 52, "all that is shown, and the part in the chart above");
    [frame.top, frame.bottom] = [4, 48];
    const x = scale(...this.all, frame.left, frame.right), known = this.panel.y.filter((v) => v !== null);
    const y = scale(Math.min(...known), Math.max(...known), frame.bottom - 3, frame.top + 3);
    for (const [, first, last] of this.panel.spans) {
      const ends = [x(this.x[first]), x(this.x[last])], left = Math.min(...ends);
      picture.append(svg("rect", { class: "band", x: left, width: Math.max(1, Math.max(...ends) - left), y: frame.top, height: frame.bottom - frame.top }));
    }
    picture.append(svg("path", { class: "path", d: this.line(x, (index) => (this.panel.y[index] === null ? null : y(this.panel.y[index]))) }));
    const [low, high] = this.view.map(x);
    picture.append(svg("rect", { class: "view", x: low, width: Math.max(3, high - low), y: frame.top, height: frame.bottom - frame.top, rx: 3 }));
    this.overview = (clientX) => this.all[0] + ((clientX - home.getBoundingClientRect().left - frame.left) / (frame.right - frame.left)) * (this.all[1] - this.all[0]);
  }

  bars() {
    const { data } = this, none = "There are no matches.";
    const noAxis = data.lengths ? "The ORDER BY column is no time and no number." : none;
    drawBars(this.find(".starts"), data.starts, data.axis, "matches over time", noAxis);
    drawBars(this.find(".lengths"), data.lengths, null, `${data.rows} per match`, none);
  }

  range() {
    const { first, total, labels } = this.panel, f = (n) => n.toLocaleString("en-US");
    const { rows } = this.data;
    return labels.length === total ? `${f(total)} ${rows}` : `${rows} ${f(first)} to ${f(first + labels.length - 1)} of ${f(total)}`;
  }

  valueAxis(picture, frame) {
    const seen = this.panel.y.filter((v, i) => v !== null && this.x[i] >= this.view[0] && this.x[i] <= this.view[1]);
    const least = seen.length ? Math.min(...seen) : 0, most = seen.length ? Math.max(...seen) : 1;
    const margin = (most - least || Math.abs(most) || 1) * 0.06;
    const y = drawYAxis(picture, frame, least - margin, most + margin);
    return (index) => (this.panel.y[index] === null ? null : y(this.panel.y[index]));
  }

  laneAxis(picture, frame) {
    const names = [...this.data.variables, "no match"], high = (frame.bottom - frame.top) / names.length;
    const y = (lane) => frame.top + (lane + 0.5) * high;
    names.forEach((name, lane) => {
      picture.append(svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(lane), y2: y(lane) }));
      const short = name.length > 13 ? `${name.slice(0, 12)}…` : name;
      picture.append(svg("text", { x: frame.left - 8, y: y(lane) + 4, "text-anchor": "end" }, short));
    });
    return (index) => y(this.panel.labels[index] < 0 ? names.length - 1 : this.panel.labels[index]);
  }

  line(sx, sy) {
    let path = "", pen = "M";
    this.x.forEach((value, index) => {
      const y = sy(index);
      if (y === null) { pen = "M"; return; }
      path += `${pen}${sx(value).toFixed(1)} ${y.toFixed(1)}`;
      pen = "L";
    });
    return path;
  }

  drawSpans(inside, frame) {
    this.panel.spans.forEach(([number, first, last], index) => {
      const ends = [this.sx(this.x[first]), this.sx(this.x[last])], left = Math.min(...ends) - 3, right = Math.max(...ends) + 3;
      if (right < frame.left || left > frame.right) return;
      const band = svg("rect", { class: index % 2 ? "band odd" : "band", x: left, width: right - left, y: frame.top, height: frame.bottom - frame.top });
      band.append(svg("title", {}, `match ${number}`));
      inside.append(band);
    });
  }

  drawDots(inside) {
    const count = this.x.filter((v) => v >= this.view[0] && v <= this.view[1]).length;
    const radius = count > 500 ? 2.6 : count > 150 ? 3.4 : 4.6;
    this.panel.labels.forEach((label, index) => {
      const y = this.sy(index), hidden = this.x[index] < this.view[0] || this.x[index] > this.view[1];
      if (y === null || hidden || (label < 0 && this.data.y)) return;
      const fill = label < 0 ? "var(--series)" : color(label);
      inside.append(svg("circle", { class: "dot", cx: this.sx(this.x[index]), cy: y, r: label < 0 ? 2 : radius, style: `fill:${fill}` }));
    });
  }

  // -- looking around ----------------------------------------------------------------------------

  hover(event) {
    if (!this.panel) return;
    const at = event.clientX - this.home.getBoundingClientRect().left;
    let best = null, nearest = 40;
    this.x.forEach((value, index) => {
      const away = Math.abs(this.sx(value) - at);
      if (away < nearest) [best, nearest] = [index, away];
    });
    if (best === null) return this.leave();
    this.point(best, event.clientX, event.clientY);
  }

  leave() {
    hideTip();
    if (this.marker) this.marker.replaceChildren();
  }

  point(index, clientX, clientY) {
    this.current = index;
    const { data, panel, frame } = this, x = this.sx(this.x[index]), y = this.sy(index);
    this.marker.replaceChildren(svg("line", { class: "here", x1: x, x2: x, y1: frame.top, y2: frame.bottom }));
    if (y !== null) this.marker.append(svg("circle", { class: "ring", cx: x, cy: y, r: 6 }));
    const inside = panel.spans.filter(([, first, last]) => first <= index && index <= last).map(([number]) => number);
    const label = panel.labels[index], variable = label < 0 ? "not matched" : data.variables[label];
    const which = inside.length ? `, match ${inside.slice(0, 4).join(", ")}${inside.length > 4 ? ", ..." : ""}` : "";
    const box = this.home.getBoundingClientRect();
    showTip(`${variable}${which}`, data.columns.map((name, column) => [name, panel.cells[column][index]]), clientX ?? box.left + x, clientY ?? box.top + (y ?? 40));
  }

  key(event) {
    const moves = { ArrowLeft: -1, ArrowRight: 1 }, acts = { "+": "in", "=": "in", "-": "out", Home: "all" };
    if (event.key in moves && this.panel) this.step(moves[event.key]);
    else if (event.key in acts) this.act(acts[event.key]);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  step(by) {
    const next = Math.max(0, Math.min(this.x.length - 1, this.current === null ? 0 : this.current + by));
    const [low, high] = this.view, wide = high - low;
    if (this.x[next] < low || this.x[next] > high) this.zoom(this.x[next] - wide / 2, this.x[next] + wide / 2);
    this.point(next);
  }

  act(what) {
    if (!this.panel) return;
    if (what === "scale") {
      this.byRow = !this.byRow;
      this.find("[data-do=scale]").setAttribute("aria-pressed", this.byRow);
      this.useScale();
      return this.draw();
    }
    if (what === "all") return this.zoom(...this.all);
    const [low, high] = this.view, wide = (high - low) * (what === "in" ? 0.5 : 2);
    const middle = this.current === null ? (low + high) / 2 : this.x[this.current];
    this.zoom(middle - wide / 2, middle + wide / 2);
  }

  zoom(low, high) {
    const wide = Math.min(high - low, this.all[1] - this.all[0]);
    const begin = Math.max(this.all[0], Math.min(low, this.all[1] - wide));
    this.view = [begin, begin + wide];
    this.draw();
  }

  // -- the table ---------------------------------------------------------------------------------

  drawTable() {
    const { table } = this.data, home = this.find(".matches");
    const all = this.find("input[value=first]").checked, keyed = table.keys.some((key) => key !== null);
    const visible = new Map((this.panel ? this.panel.spans : []).map((span) => [span[0], span]));
    const chosen = table.rows.map((_, index) => index).filter((index) => all || (this.panel && table.keys[index] === this.panel.key && visible.has(table.numbers[index])));
    if (!chosen.length) return home.replaceChildren(node("p", { class: "empty" }, "There are no matches."));
    const head = [...(keyed ? ["key"] : []), ...table.names];
    const numeric = [...(keyed ? [false] : []), ...table.numeric];
    const cell = (value, column) => node("td", { class: `${numeric[column] ? "num" : ""}${value === null ? " null" : ""}` }, value ?? "NULL");
    const body = chosen.slice(0, 100).map((index) => {
      const values = [...(keyed ? [table.keys[index]] : []), ...table.rows[index]];
      const row = node("tr", {}, values.map(cell)), span = visible.get(table.numbers[index]);
      if (span && this.panel.key === table.keys[index]) this.link(row.children[keyed ? 1 : 0], span);
      return row;
    });
    const header = node("thead", {}, node("tr", {}, head.map((name, column) => node("th", { scope: "col", class: numeric[column] ? "num" : "" }, name))));
    home.replaceChildren(node("table", {}, [header, node("tbody", {}, body)]));
  }

  link(cell, [number, first, last]) {
    const button = node("button", { type: "button", "aria-label": `show match ${number} in the chart` }, cell.textContent);
    button.addEventListener("click", () => {
      const ends = [this.x[first], this.x[last]], low = Math.min(...ends), high = Math.max(...ends);
      const margin = Math.max((high - low) * 1.2, (this.all[1] - this.all[0]) / 400);
      this.zoom(low - margin, high + margin);
      this.home.scrollIntoView({ block: "nearest" });
    });
    cell.replaceChildren(button);
  }
}

const sections = [...document.querySelectorAll("section.clause")];
const drawn = sections.map((section) => new Clause(section, clauses[Number(section.dataset.clause)]));
let waiting = 0;
const redraw = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => drawn.forEach((clause) => clause.draw())); };
addEventListener("resize", redraw);
addEventListener("beforeprint", () => drawn.forEach((clause) => clause.draw()));
