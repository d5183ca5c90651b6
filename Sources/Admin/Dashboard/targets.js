"use strict";

/* The table of servers and routes. */

/** How many routes are shown beside those with errors. */
const ROUTES_SHOWN = 20;
const RANKS = { bad: 0, warn: 1, note: 2, good: 3, "": 4 };

function showTargets(status, readings) {
  const servers = status.upstreams.flatMap((upstream) => upstream.servers.map((server) => serverTarget(upstream, server, status, readings)));
  const routes = routeTargets(status, readings);
  const shown = [...servers, ...routes.filter((route, index) => index < ROUTES_SHOWN || route.rank < RANKS.good)];
  shown.sort((a, b) => a.rank - b.rank || a.order - b.order || b.rate - a.rate);
  const body = element("targets");
  const focused = document.activeElement;
  const rows = keyed(body, keptInPlace(body, shown.map((target) => target.key)), () => document.createElement("tr"));
  // A row that is moved loses the focus, and is still the one that is meant.
  if (focused !== document.activeElement && body.contains(focused)) focused.focus({ preventScroll: true });
  const byKey = new Map(shown.map((target) => [target.key, target]));
  for (const row of rows) showTarget(row, byKey.get(row.dataset.key));
  const left = servers.length + routes.length - shown.length;
  say(element("target-note"), left > 0 ? `and ${plural(left, "route")} with fewer requests and without errors` : "");
}

/** How long rows stay where they are after somebody has pointed at them, in seconds. */
const STEADY_SECONDS = 10;
let pointedAt = -Infinity;

element("targets").addEventListener("pointermove", () => { pointedAt = now(); });

/** While somebody points at the table its rows stay where they are, so that nobody presses another row's button. */
function keptInPlace(body, keys) {
  if (now() - pointedAt > STEADY_SECONDS) return keys;
  const wanted = new Set(keys);
  const there = [...body.children].map((row) => row.dataset.key).filter((key) => wanted.has(key));
  return [...new Set([...there, ...keys])];
}

/** The figures of the last minute, of the samples that `is` finds. */
function figures(readings, is, requests, responses, duration) {
  const answered = (status) => readings.increase(responses, SHORT, (labels) => is(labels) && labels.status === status);
  const all = readings.increase(responses, SHORT, is);
  const [refused, failed] = [answered("4xx"), answered("5xx")];
  const share = (number, kind) => ({
    text: percent(number, all), kind: number > 0 && kind ? `number ${kind}` : "number",
    title: `${count(number)} of ${plural(all, "response")}`,
  });
  const quantile = (part) => ({ text: latency(readings.quantile(duration, part, SHORT, is)), kind: "number" });
  const each = readings.rate(requests, SHORT, is);
  return {
    all, failed, rate: each ?? 0,
    cells: [{ text: rate(each), kind: "number" }, share(refused, ""), share(failed, "bad"), quantile(0.5), quantile(0.99)],
  };
}

function serverTarget(upstream, server, status, readings) {
  const is = (labels) => labels.upstream === upstream.name && labels.server === server.name;
  const { cells, all, failed, rate } = figures(
    readings, is, "gatehouse_upstream_server_requests_total", "gatehouse_upstream_server_responses_total", "gatehouse_upstream_server_duration_seconds");
  const attempts = readings.increase("gatehouse_upstream_server_failures_total", SHORT, is);
  const { serves, word, note, kind } = serverState(server);
  const error = server.last_error;
  let state = { word, note: "", kind, since: server.since };
  if (!serves) state.note = server.check_error ?? (server.drained ? "" : error?.error ?? note);
  else if (attempts + failed > 0) state = erring(Math.max(attempts, failed), Math.max(all, attempts), error);
  const checks = server.healthy === null ? "not checked" : server.healthy ? "checks pass" : "checks fail";
  const title = `${checks}, ${count(server.requests_in_flight)} in flight, ${plural(attempts, "failed attempt")} in the ${lately(readings)}, ejected ${count(server.ejections)}×`;
  return {
    key: `server ${upstream.name} ${server.name}`, order: 0, rank: RANKS[state.kind], rate, state,
    name: { tag: upstream.name, text: server.name.replace(/^https?:\/\//, ""), title: `${server.name} of ${upstream.name}: ${title}` }, cells,
    since: sinceCell(state.since, status), remedy: server.drained ? endServerDrain(upstream, server) : drainServer(upstream, server),
  };
}

/** The state of what has had errors in the last minute. */
function erring(failed, all, error) {
  const isMuch = failed * 20 >= all;
  return { word: isMuch ? "failing" : "errors", note: error?.error ?? "", kind: isMuch ? "bad" : "warn", since: error?.since ?? null };
}

/** The busiest first. */
function routeTargets(status, readings) {
  const rows = readings.by("gatehouse_requests_total", "route", SHORT);
  return rows.map((row) => {
    const is = (labels) => labels.route === row.name;
    const { cells, all, failed, rate } = figures(
      readings, is, "gatehouse_requests_total", "gatehouse_requests_total", "gatehouse_request_duration_seconds");
    const error = status.route_errors.find((each) => (each.route ?? "none") === row.name);
    let state = all > 0 ? { word: "serving", note: "", kind: "good", since: error?.time ?? null } : { word: "idle", note: "", kind: "", since: null };
    if (failed > 0) state = erring(failed, all, error);
    return {
      key: `route ${row.name}`, order: 1, rank: RANKS[state.kind], rate, state, cells,
      name: { tag: "route", text: row.name === "none" ? "none (404)" : row.name, title: row.name },
      since: state.word === "idle" ? { text: "", kind: "number" } : sinceCell(state.since, status), remedy: null,
    };
  });
}

function sinceCell(time, status) {
  if (time === null) return { text: "start", kind: "number", title: `since the gateway’s start, ${moment(status.started_at)}` };
  return { text: lasting(serverTime(status) - time), kind: "number", title: `since ${moment(time)}` };
}

function showTarget(row, { name, cells, state, since, remedy, rank }) {
  const text = state.note ? `${state.word} · ${state.note}` : state.word;
  const faulty = rank < RANKS.note;
  dress(row, faulty ? state.kind : "");
  fillRow(row, [name, ...cells, { text: state.word, note: state.note, kind: state.kind, title: text }, since], 9);
  showRemedy(row.children[8], remedy);
}

function showRemedy(cell, remedy) {
  let button = cell.firstElementChild;
  if (!remedy) return cell.replaceChildren();
  if (!button) {
    button = document.createElement("button");
    button.type = "button";
    cell.append(button);
  }
  say(button, remedy.short);
  if (button.ariaLabel !== remedy.label) button.ariaLabel = remedy.label;
  offer(button, remedy);
}
