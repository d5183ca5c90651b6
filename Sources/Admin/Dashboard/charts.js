"use strict";

/* The lines of the last quarter of an hour. */

/** The least time that a chart spans, in seconds. */
const SHORTEST_SECONDS = 120;
/** Points further apart than this, in seconds, are not joined by a line: there are no readings in between. */
const GAP_SECONDS = 20;
const SVG = "http://www.w3.org/2000/svg";

/** The points of all charts, measured over the seconds before each moment. */
class Course {
  points = [];

  add(readings) {
    const point = { time: readings.time };
    for (const chart of Object.values(CHARTS)) {
      for (const line of chart.lines) point[line.name] = line.value(readings);
    }
    this.points.push(point);
    while (this.points[0].time < readings.time - Readings.KEPT_SECONDS) this.points.shift();
  }

  /** How many seconds a chart spans. */
  span(now) { return Math.max(now - (this.points[0]?.time ?? now), SHORTEST_SECONDS); }
}

const isRequest = (status) => (labels) => labels.status === status;
const LOGINS = new Set(["login", "challenge"]);
const isLogin = (result) => (labels) => LOGINS.has(labels.operation) && labels.result === result;

function perMinute(readings, matches) {
  const each = readings.rate("gatehouse_account_calls_total", 30, matches);
  return each === null ? null : each * 60;
}

function time(metric, share) {
  return (readings) => readings.quantile(`gatehouse_${metric}_duration_seconds`, share, 30)?.value ?? null;
}

const CHARTS = {
  traffic: {
    says: rate,
    lines: [{ name: "requests", label: "requests per second", kind: "", area: true,
      value: (readings) => readings.rate("gatehouse_requests_total", 15) }],
  },
  errors: {
    says: (value) => `${rate(value)} /s`,
    lines: [
      { name: "refused", label: "4xx per second", kind: "soft dashed",
        value: (readings) => readings.rate("gatehouse_requests_total", 15, isRequest("4xx")) },
      { name: "failed", label: "5xx per second", kind: "alarm",
        value: (readings) => readings.rate("gatehouse_requests_total", 15, isRequest("5xx")) },
    ],
  },
  latency: {
    says: brief,
    logarithmic: true,
    legend: [["soft", "upstream"], ["", "gateway"], ["dashed", "p50"]],
    lines: [
      { name: "upstreamHalf", label: "upstream, half", kind: "soft dashed", value: time("upstream", 0.5) },
      { name: "upstreamMost", label: "upstream, 99 %", kind: "soft", value: time("upstream", 0.99) },
      { name: "gatewayHalf", label: "gateway, half", kind: "dashed", value: time("gateway", 0.5) },
      { name: "gatewayMost", label: "gateway, 99 %", kind: "", value: time("gateway", 0.99) },
    ],
  },
  "sign-ins": {
    says: (value) => `${rate(value)} /min`,
    lines: [
      { name: "signIns", label: "sign-ins per minute", kind: "", value: (readings) => perMinute(readings, isLogin("success")) },
      { name: "signInsRefused", label: "refused", kind: "soft dashed", value: (readings) => perMinute(readings, isLogin("refused")) },
    ],
  },
};

/** How high a value stands, from 0 to 1. */
function scale(chart, points) {
  const values = chart.lines.flatMap((line) => points.map((point) => point[line.name])).filter((value) => value !== null);
  const highest = Math.max(...values, 0);
  if (chart.logarithmic) {
    const low = 0.0002;
    const high = Math.max(highest, 0.01) * 1.3;
    const height = (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low);
    const marks = [0.001, 0.01, 0.1, 1, 10].filter((value) => value < high);
    return { height, marks, highest };
  }
  const top = Math.max(highest, 0.1) * 1.15;
  return { height: (value) => value / top, marks: highest > 0 ? [highest] : [], highest };
}

/** The path of one line, in a square of 100; `closed` brings it down to the ground at both ends. */
function path(course, name, now, height, closed) {
  const runs = [];
  const span = course.span(now);
  let last = null;
  for (const point of course.points) {
    if (point[name] === null) { last = null; continue; }
    if (last === null || point.time - last > GAP_SECONDS) runs.push([]);
    runs.at(-1).push([100 - ((now - point.time) / span) * 100, 100 - height(point[name]) * 100]);
    last = point.time;
  }
  return runs.map((run) => {
    // A single moment would not be seen.
    const drawn = run.length > 1 ? run : [[run[0][0] - 0.4, run[0][1]], run[0]];
    const line = drawn.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L");
    return closed ? `M${drawn[0][0].toFixed(2)} 100L${line}L${drawn.at(-1)[0].toFixed(2)} 100Z` : `M${line}`;
  }).join("");
}

function shape(parent, tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent.append(node);
  return node;
}

function drawChart(name, course, now) {
  const chart = CHARTS[name];
  const figure = element(`chart-${name}`);
  if (!figure.firstChild) prepareChart(chart, figure);
  const { height, marks, highest } = scale(chart, course.points);
  const plot = figure.firstChild;
  const svg = plot.firstChild;
  svg.replaceChildren();
  plot.replaceChildren(svg);
  for (const mark of marks) {
    const top = 100 - height(mark) * 100;
    shape(svg, "path", { class: "grid", d: `M0 ${top.toFixed(2)}H100` });
    const text = document.createElement("span");
    text.textContent = chart.says(mark);
    text.style.top = `calc(${top.toFixed(2)}% - 5px)`;
    plot.append(text);
  }
  for (const line of chart.lines) {
    if (line.area) shape(svg, "path", { class: "area", d: path(course, line.name, now, height, true) });
    shape(svg, "path", { class: line.kind, d: path(course, line.name, now, height, false) });
  }
  const last = course.points.at(-1);
  const span = `last ${lasting(course.span(now))}`;
  say(figure.lastChild.firstChild, span);
  const readings = chart.lines.map((line) => `${line.label}: ${last?.[line.name] == null ? "none" : chart.says(last[line.name])}`);
  svg.setAttribute("aria-label", `Over the ${span}. Now ${readings.join(", ")}; at most ${chart.says(highest)}.`);
}

/** The frame of a chart, and beneath it what its lines are. */
function prepareChart(chart, figure) {
  const plot = document.createElement("div");
  plot.className = "plot";
  shape(plot, "svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img" });
  const caption = document.createElement("figcaption");
  caption.append(document.createElement("span"));
  const legend = chart.legend ?? chart.lines.map((line) => [line.kind, line.label]);
  for (const [kind, label] of chart.lines.length > 1 ? legend : []) {
    const entry = document.createElement("span");
    const svg = shape(entry, "svg", { viewBox: "0 0 18 6", "aria-hidden": "true" });
    shape(svg, "path", { class: kind, d: "M0 3H18" });
    entry.append(label);
    caption.append(entry);
  }
  figure.append(plot, caption);
}
