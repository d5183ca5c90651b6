"use strict";

/* The lines of the last hour. */

/** The least and the most time that a chart spans, in seconds. */
const SHORTEST_SECONDS = 120;
const LONGEST_SECONDS = 3600;
/** Seconds between two points: those of the gateway's own history, and from then on this page's. */
const POINT_SECONDS = 15;
/** Points further apart than this, in seconds, are not joined by a line: there are no readings in between. */
const GAP_SECONDS = 40;
/** The least time that a rate is of, in seconds. Over less, one request more is another rate. */
const SHORTEST_RATE = 15;
const SVG = "http://www.w3.org/2000/svg";

/** The points of all charts, each measured over the seconds before it. The last one moves until it is old enough. */
class Course {
  points = [];

  add(readings) {
    const point = { time: readings.time };
    for (const chart of Object.values(CHARTS)) {
      for (const line of chart.lines) point[line.name] = line.value(readings);
    }
    if (this.points.length > 1 && this.points.at(-1).time - this.points.at(-2).time < POINT_SECONDS) this.points.pop();
    this.points.push(point);
    this.forget(readings.time);
  }

  /** Whether the gateway's history tells of a time that this page has not seen. */
  lacks(now) { return this.points.length === 0 || now - this.points.at(-1).time > GAP_SECONDS; }

  /** Takes the gateway's history for the time that this page has not seen; `now` by the browser's steady clock. */
  fill(history, now) {
    const seen = this.points.at(-1)?.time ?? -Infinity;
    history.times.forEach((time, index) => {
      const point = { time: now - (history.now - time) };
      if (point.time <= seen) return;
      for (const chart of Object.values(CHARTS)) {
        for (const line of chart.lines) point[line.name] = history.series[line.series][index];
      }
      this.points.push(point);
    });
    this.forget(now);
  }

  forget(now) {
    while (this.points.length > 0 && this.points[0].time < now - LONGEST_SECONDS) this.points.shift();
  }

  /** A line's value at the last point, if that is not long ago; else null. */
  latest(name, now) {
    const last = this.points.at(-1);
    return last && now - last.time <= GAP_SECONDS ? last[name] : null;
  }

  /** How many seconds a chart spans. */
  span(now) { return Math.max(now - (this.points[0]?.time ?? now), SHORTEST_SECONDS); }
}

const isRequest = (status) => (labels) => labels.status === status;
const hasResult = (result) => (labels) => labels.result === result;

function signInsPerMinute(readings, result) {
  const each = readings.rate("gatehouse_sign_ins_total", 30, hasResult(result));
  return each === null ? null : each * 60;
}

function time(metric, share) {
  return (readings) => readings.quantile(`gatehouse_${metric}_duration_seconds`, share, 30)?.value ?? null;
}

/** For each line its name, the name of its series in /history, and how it is measured by this page. */
const CHARTS = {
  traffic: {
    says: rate,
    lines: [{ name: "requests", series: "requests_per_second", label: "requests per second", kind: "first", area: true,
      value: (readings) => readings.rate("gatehouse_requests_total", 15) }],
  },
  errors: {
    says: (value) => `${rate(value)} /s`,
    lines: [
      { name: "refused", series: "client_errors_per_second", label: "4xx per second", kind: "second-line dashed",
        value: (readings) => readings.rate("gatehouse_requests_total", 15, isRequest("4xx")) },
      { name: "failed", series: "server_errors_per_second", label: "5xx per second", kind: "alarm",
        value: (readings) => readings.rate("gatehouse_requests_total", 15, isRequest("5xx")) },
    ],
  },
  latency: {
    says: brief,
    logarithmic: true,
    legend: [["second-line", "upstream"], ["first", "gateway"], ["dashed", "p50"]],
    lines: [
      { name: "upstreamHalf", series: "upstream_p50_seconds", label: "upstream, half", kind: "second-line dashed", value: time("upstream", 0.5) },
      { name: "upstreamMost", series: "upstream_p99_seconds", label: "upstream, 99 %", kind: "second-line", value: time("upstream", 0.99) },
      { name: "gatewayHalf", series: "gateway_p50_seconds", label: "gateway, half", kind: "first dashed", value: time("gateway", 0.5) },
      { name: "gatewayMost", series: "gateway_p99_seconds", label: "gateway, 99 %", kind: "first", value: time("gateway", 0.99) },
    ],
  },
  "sign-ins": {
    says: (value) => `${rate(value)} /min`,
    lines: [
      { name: "signIns", series: "sign_ins_per_minute", label: "sign-ins per minute", kind: "first", value: (readings) => signInsPerMinute(readings, "success") },
      { name: "signInsRefused", series: "sign_ins_refused_per_minute", label: "refused", kind: "second-line dashed", value: (readings) => signInsPerMinute(readings, "refused") },
    ],
  },
};

/** How high a value stands, from 0 to 1. */
function scale(chart, points) {
  const values = chart.lines.flatMap((line) => points.map((point) => point[line.name])).filter((value) => value != null);
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
    if (point[name] == null) { last = null; continue; }
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

/** A time of this page's steady clock as people write it. */
function clockTime(time, now) {
  // To the second: the fraction that is lost in between may make a whole minute the one before.
  const seconds = Math.round(Date.now() / 1000 - (now - time));
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

/** Where the time axis has marks: at whole minutes that divide the span into three to six parts. */
function timeMarks(span, now) {
  const minutes = [1, 2, 5, 10, 15, 20].find((each) => span / (each * 60) <= 6);
  const [step, offset] = [minutes * 60, Date.now() / 1000 - now];
  const marks = [];
  for (let mark = Math.ceil((now + offset - span) / step) * step; mark <= now + offset; mark += step) marks.push(mark - offset);
  return marks;
}

function drawChart(name, course, now) {
  const chart = CHARTS[name];
  const figure = element(`chart-${name}`);
  if (!figure.firstChild) prepareChart(chart, figure);
  const { height, marks, highest } = scale(chart, course.points);
  const [plot, axis, caption] = figure.children;
  const [svg, cursor, reading] = plot.children;
  svg.replaceChildren();
  plot.replaceChildren(svg, cursor, reading);
  for (const mark of marks) {
    const top = 100 - height(mark) * 100;
    shape(svg, "path", { class: "grid", d: `M0 ${top.toFixed(2)}H100` });
    const text = document.createElement("span");
    text.className = "mark";
    text.textContent = chart.says(mark);
    text.style.top = `calc(${top.toFixed(2)}% - 5px)`;
    plot.append(text);
  }
  const span = course.span(now);
  const place = (time) => 100 - ((now - time) / span) * 100;
  axis.replaceChildren(...timeMarks(span, now).map((time) => {
    shape(svg, "path", { class: "grid", d: `M${place(time).toFixed(2)} 0V100` });
    const text = document.createElement("span");
    // At the beginning it would be cut.
    text.textContent = place(time) > 11 ? clockTime(time, now) : "";
    text.style.left = `${place(time).toFixed(2)}%`;
    return text;
  }));
  for (const line of chart.lines) {
    if (line.area) shape(svg, "path", { class: "area", d: path(course, line.name, now, height, true) });
    shape(svg, "path", { class: line.kind, d: path(course, line.name, now, height, false) });
  }
  const last = course.points.at(-1);
  const long = `last ${lasting(span)}`;
  say(caption.firstChild, long);
  const readings = chart.lines.map((line) => `${line.label}: ${last?.[line.name] == null ? "none" : chart.says(last[line.name])}`);
  svg.setAttribute("aria-label", `Over the ${long}. Now ${readings.join(", ")}; at most ${chart.says(highest)}.`);
  plot.onpointermove = (event) => {
    const box = svg.getBoundingClientRect();
    const wanted = now - (1 - (event.clientX - box.left) / box.width) * span;
    const [nearest] = [...course.points].sort((a, b) => Math.abs(a.time - wanted) - Math.abs(b.time - wanted));
    if (!nearest) return;
    point(chart, nearest, place(nearest.time), now, cursor, reading);
  };
  plot.onpointerleave = () => { cursor.hidden = reading.hidden = true; };
}

/** Shows the values of one moment beside a line through it. */
function point(chart, moment, x, now, cursor, reading) {
  cursor.hidden = reading.hidden = false;
  cursor.style.setProperty("--x", x / 100);
  dress(reading, x < 50 ? "reading right" : "reading");
  const values = chart.lines.map((line) => `${line.label}: ${moment[line.name] == null ? "none" : chart.says(moment[line.name])}`);
  say(reading, [clockTime(moment.time, now), ...values].join("\n"));
}

/** The frame of a chart, and beneath it the times, and what its lines are. */
function prepareChart(chart, figure) {
  const plot = document.createElement("div");
  plot.className = "plot";
  shape(plot, "svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img" });
  const cursor = document.createElement("i");
  const reading = document.createElement("div");
  cursor.hidden = reading.hidden = true;
  plot.append(cursor, reading);
  const axis = document.createElement("div");
  axis.className = "axis";
  axis.setAttribute("aria-hidden", "true");
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
  figure.append(plot, axis, caption);
}
