"use strict";
(() => {
  const { palette, clauses } = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const SVG = "http://www.w3.org/2000/svg";
  const color = (variable) => palette[variable % palette.length];

  // -- elements: text is only ever set as text, so no data is taken for markup ---------------------

  function node(tag, attributes = {}, children = [], space = null) {
    const made = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    for (const child of [].concat(children)) made.append(child);
    return made;
  }
  const svg = (tag, attributes, children) => node(tag, attributes, children, SVG);

  // -- axes ----------------------------------------------------------------------------------------

  const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR, YEAR = 365.25 * DAY;
  const STEPS = [
    ...[1, 2, 5, 10, 20, 50, 100, 200, 500], ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
    ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE), ...[1, 2, 3, 6, 12].map((n) => n * HOUR), ...[1, 2, 7, 14].map((n) => n * DAY),
  ];
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const pad = (number, width = 2) => String(number).padStart(width, "0");
  const FURTHEST = 8.64e15;

  function niceStep(span, count) {
    const rough = span / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].find((n) => n * power >= rough * 0.999) * power;
  }

  function numberTicks(low, high, count, whole = false) {
    const step = Math.max(niceStep(high - low || 1, count), whole ? 1 : 0), ticks = [];
    const digits = Math.max(0, Math.min(12, -Math.floor(Math.log10(step))));
    const label = (v) => (v || 0).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n++) ticks.push({ at: n * step, text: label(n * step) });
    return ticks;
  }

  function calendarTicks(low, high, count) {
    const months = [1, 3, 6].find((n) => (high - low) / (n * YEAR / 12) <= count);
    const step = months || 12 * Math.max(1, niceStep((high - low) / YEAR, count)), ticks = [];
    const begin = new Date(low);
    let month = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / step) * step;
    for (;; month += step) {
      const at = new Date(0);
      at.setUTCFullYear(Math.floor(month / 12), ((month % 12) + 12) % 12, 1);
      if (!(+at <= high)) return ticks;
      if (+at >= low) ticks.push({ at: +at, text: step < 12 ? MONTHS[at.getUTCMonth()] : "", day: String(at.getUTCFullYear()) });
    }
  }

  function timeTicks(low, high, count) {
    if (Math.abs(low) > FURTHEST || Math.abs(high) > FURTHEST) return numberTicks(low, high, count);
    const step = STEPS.find((s) => (high - low) / s <= count);
    if (!step) return calendarTicks(low, high, count);
    const ticks = [];
    const origin = step >= 7 * DAY ? 4 * DAY : 0; // weeks begin on Mondays
    for (let at = Math.ceil((low - origin) / step) * step + origin; at <= high; at += step) {
      const when = new Date(at);
      const day = `${MONTHS[when.getUTCMonth()]} ${when.getUTCDate()}, ${when.getUTCFullYear()}`;
      let text = `${pad(when.getUTCHours())}:${pad(when.getUTCMinutes())}`;
      if (step < MINUTE) text += `:${pad(when.getUTCSeconds())}`;
      if (step < SECOND) text += `.${pad(when.getUTCMilliseconds(), 3)}`;
      ticks.push({ at, text: step >= DAY ? `${MONTHS[when.getUTCMonth()]} ${when.getUTCDate()}` : text, day: step >= DAY ? String(when.getUTCFullYear()) : day });
    }
    return ticks;
  }

  const isTime = (axis) => axis === "time" || axis === "date";
  const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);

  function drawXAxis(picture, frame, low, high, axis) {
    const count = Math.max(2, Math.floor((frame.right - frame.left) / 95));
    const ticks = isTime(axis) ? timeTicks(low, high, count) : numberTicks(low, high, count, !axis);
    const x = scale(low, high, frame.left, frame.right);
    let day = null, dayEnd = -Infinity;
    for (const tick of ticks) {
      picture.append(svg("line", { class: "grid", x1: x(tick.at), x2: x(tick.at), y1: frame.top, y2: frame.bottom }));
      if (tick.text) picture.append(svg("text", { x: x(tick.at), y: frame.bottom + 17, "text-anchor": "middle" }, tick.text));
      if (tick.day && tick.day !== day && x(tick.at) > dayEnd) {
        const y = frame.bottom + (tick.text ? 33 : 17);
        picture.append(svg("text", { class: "day", x: x(tick.at), y, "text-anchor": "middle" }, tick.day));
        [day, dayEnd] = [tick.day, x(tick.at) + 90];
      }
    }
    return x;
  }

  function drawYAxis(picture, frame, low, high, whole = false) {
    const y = scale(low, high, frame.bottom, frame.top);
    for (const tick of numberTicks(low, high, 5, whole)) {
      picture.append(svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(tick.at), y2: y(tick.at) }));
      picture.append(svg("text", { x: frame.left - 8, y: y(tick.at) + 4, "text-anchor": "end" }, tick.text));
    }
    return y;
  }

  function canvas(home, height, label, left = 64) {
    const width = Math.max(home.clientWidth, 260);
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
    home.replaceChildren(picture);
    return [picture, { left, right: width - 14, top: 10, bottom: height - 40 }];
  }

  // -- tooltip -------------------------------------------------------------------------------------

  function showTip(title, pairs, x, y) {
    const list = node("dl", {}, pairs.flatMap(([name, value]) => [node("dt", {}, name), node("dd", {}, value ?? "NULL")]));
    tip.replaceChildren(node("b", {}, title), list);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, x + 18 + box.width > innerWidth ? x - box.width - 18 : x + 18)}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - box.height - 8))}px`;
  }
  const hideTip = () => { tip.hidden = true; };

  // -- bars ----------------------------------------------------------------------------------------

  const spelled = (value, axis) => {
    if (!isTime(axis) || Math.abs(value) > FURTHEST) return value.toLocaleString("en-US", { maximumSignificantDigits: 8 });
    const text = new Date(value).toISOString();
    return axis === "date" ? text.slice(0, 10) : text.slice(0, 19).replace("T", " ");
  };

  function drawBars(home, bars, axis, name, nothing) {
    if (!bars) return home.replaceChildren(node("p", { class: "empty" }, nothing));
    const [picture, frame] = canvas(home, 190, name, 56);
    const most = Math.max(...bars.counts), step = (bars.high - bars.low) / bars.counts.length;
    const x = drawXAxis(picture, frame, bars.low, bars.high, axis), y = drawYAxis(picture, frame, 0, most, true);
    bars.counts.forEach((count, index) => {
      if (!count) return;
      const low = bars.low + index * step, wide = x(low + step) - x(low);
      const bar = svg("rect", { class: "bar", x: x(low) + Math.min(0.75, wide / 8), width: Math.max(1, wide - 1.5), y: y(count), height: frame.bottom - y(count), rx: 1.5 });
      const range = axis ? `${spelled(low, axis)} to ${spelled(low + step, axis)}` : step > 1 ? `${low + 0.5} to ${low + step - 0.5} rows` : `${low + 0.5} rows`;
      bar.addEventListener("pointermove", (event) => showTip(range, [["matches", count.toLocaleString("en-US")]], event.clientX, event.clientY));
      bar.addEventListener("pointerleave", hideTip);
      picture.append(bar);
    });
  }

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
      const what = data.y ? `${data.y}` : "Rows by variable";
      this.find(".what").textContent = panel ? `${what}${panel.key === null ? "" : ` of ${panel.key}`}, ${this.range()}` : what;
      if (!panel) return this.home.replaceChildren(node("p", { class: "empty" }, "There are no rows."));
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
      const [picture, frame] = canvas(home, 52, "all rows shown, and the part in the chart above");
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
      drawBars(this.find(".lengths"), data.lengths, null, "rows per match", none);
    }

    range() {
      const { first, total, labels } = this.panel, f = (n) => n.toLocaleString("en-US");
      return labels.length === total ? `${f(total)} rows` : `rows ${f(first)} to ${f(first + labels.length - 1)} of ${f(total)}`;
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
})();
