"use strict";

/* The samples of /metrics, and the changes between two readings of it. */

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Prometheus' text format 0.0.4: for each metric its samples, each with its whole name, labels and value. */
function parseMetrics(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : SAMPLE.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) {
      labels[name] = value.replace(/\\(.)/g, (_, character) => (character === "n" ? "\n" : character));
    }
    const samples = metrics.get(found[1]) ?? [];
    samples.push({ key: line.slice(0, line.lastIndexOf(" ")), labels, value: Number(found[3]) });
    metrics.set(found[1], samples);
  }
  return metrics;
}

/** The readings of the last quarter of an hour. Whatever is asked for is asked of the newest, or of its difference to
    one that is so many seconds older, or to the oldest that there is. */
class Readings {
  static KEPT_SECONDS = 900;
  /** The most time between two readings, if responses are prompt. */
  static SPACING = 4;

  earlier = [];
  metrics = new Map();
  time = 0;
  startedAt = null;

  /** `time` in seconds, of the browser's steady clock; `startedAt` is the gateway's start. */
  add(time, startedAt, metrics) {
    // Another process counts from nought: what was before is no measure for it.
    if (startedAt !== this.startedAt) this.earlier = [];
    const values = new Map();
    for (const samples of metrics.values()) {
      for (const sample of samples) if (sample.value !== 0) values.set(sample.key, sample.value);
    }
    this.earlier.push({ time, values });
    while (this.earlier[0].time < time - Readings.KEPT_SECONDS) this.earlier.shift();
    [this.metrics, this.time, this.startedAt] = [metrics, time, startedAt];
  }

  /** The reading that differences over `seconds` begin with; undefined while there is one reading only. As readings come
      every few seconds, it may be so much older: a difference over the shortest time of a rate covers that time. */
  before(seconds) {
    const older = this.earlier.slice(0, -1);
    return older.find((reading) => reading.time >= this.time - seconds - Readings.SPACING) ?? older.at(-1);
  }

  /** How many seconds a difference over `seconds` really covers; 0 while there is none. */
  covered(seconds) {
    const first = this.before(seconds);
    return first ? this.time - first.time : 0;
  }

  samples(name) { return this.metrics.get(name) ?? []; }

  total(name, matches = () => true) {
    return sum(this.samples(name).filter((sample) => matches(sample.labels)), (sample) => sample.value);
  }

  /** By how much one sample has grown. One that has become smaller counts from nought since. */
  grown(sample, first) {
    if (!first) return 0;
    const before = first.values.get(sample.key) ?? 0;
    return sample.value >= before ? sample.value - before : sample.value;
  }

  increase(name, seconds, matches = () => true) {
    const first = this.before(seconds);
    return sum(this.samples(name).filter((sample) => matches(sample.labels)), (sample) => this.grown(sample, first));
  }

  /** Per second; null while the readings cover too little time. */
  rate(name, seconds, matches) {
    const covered = this.covered(seconds);
    return covered >= SHORTEST_RATE ? this.increase(name, seconds, matches) / covered : null;
  }

  /** For each value of a label its increase over `seconds` and its total: those that are not nought, the most
      increased first. */
  by(name, label, seconds, matches = () => true) {
    const first = this.before(seconds);
    const rows = new Map();
    for (const sample of this.samples(name).filter((each) => matches(each.labels))) {
      const row = rows.get(sample.labels[label]) ?? { name: sample.labels[label], increase: 0, total: 0 };
      row.increase += this.grown(sample, first);
      row.total += sample.value;
      rows.set(row.name, row);
    }
    return [...rows.values()].filter((row) => row.total > 0)
      .sort((a, b) => b.increase - a.increase || b.total - a.total || (a.name < b.name ? -1 : 1));
  }

  /** Of a histogram, whatever it is counted by besides. See `quantile` below. */
  quantile(name, share, seconds, matches = () => true) {
    const first = this.before(seconds);
    const counts = new Map();
    for (const sample of this.samples(`${name}_bucket`).filter((each) => matches(each.labels))) {
      const limit = sample.labels.le === "+Inf" ? Infinity : Number(sample.labels.le);
      counts.set(limit, (counts.get(limit) ?? 0) + this.grown(sample, first));
    }
    const buckets = [...counts].map(([limit, count]) => ({ limit, count }));
    return quantile(buckets.sort((a, b) => a.limit - b.limit), share);
  }
}

/** The value that `share` of the observations are within, read off a histogram's cumulative buckets in ascending
    order: evenly spread within a bucket, as Prometheus takes it. `kind` is "below" for the lowest bucket and "above"
    for the highest, of which no more than their limits is known. Null without observations. */
function quantile(buckets, share) {
  const all = buckets.at(-1)?.count ?? 0;
  if (all <= 0) return null;
  const rank = share * all;
  const index = buckets.findIndex((bucket) => bucket.count >= rank);
  const bucket = buckets[index];
  if (index === 0) return { value: bucket.limit, kind: "below" };
  const below = buckets[index - 1];
  if (bucket.limit === Infinity) return { value: below.limit, kind: "above" };
  const part = (rank - below.count) / (bucket.count - below.count);
  return { value: below.limit + (bucket.limit - below.limit) * part, kind: "exact" };
}

function sum(list, number) { return list.reduce((total, each) => total + number(each), 0); }
