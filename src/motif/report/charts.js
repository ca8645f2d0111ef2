// Elements, axes, bars and the tooltip. `clause.js` follows in the same function.

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
