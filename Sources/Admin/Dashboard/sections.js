"use strict";

/* The page's sections for one reading. */

function showFigures(status, readings) {
  const per = (matches) => readings.increase("gatehouse_requests_total", SHORT, matches);
  const all = per();
  say(element("rate"), rate(readings.rate("gatehouse_requests_total", SHORT) ?? course.latest("requests", readings.time)));
  const { requests, connections } = status.limits;
  const sockets = readings.total("gatehouse_websockets_open");
  say(element("load"), [
    `${count(requests.in_flight)} in flight`, plural(connections.open, "connection"),
    ...(sockets > 0 ? [plural(sockets, "WebSocket")] : []),
  ].join(" · "));
  const failed = per(isRequest("5xx"));
  say(element("errors"), percent(failed, all));
  dress(element("errors"), failed > 0 ? "bad" : "");
  say(element("refusals"), percent(per(isRequest("4xx")), all));
  say(element("failing"), readings.covered(SHORT) < 1 ? "figures in a moment" : `${all > 0 ? `of ${plural(all, "request")}` : "no requests"} in the ${lately(readings)}`);
  const kinds = [["request", "all requests"], ["upstream", "upstream’s part ¹"], ["gateway", "gateway’s part ¹"]];
  fill("latency", kinds.map(([metric, name]) => [
    name, ...[0.5, 0.99].map((share) => latency(readings.quantile(`gatehouse_${metric}_duration_seconds`, share, SHORT))),
  ]), "");
  const parts = readings.increase("gatehouse_upstream_duration_seconds_count", SHORT);
  const timed = readings.increase("gatehouse_request_duration_seconds_count", SHORT);
  say(element("latency-note"), parts === timed ? "¹ of the same requests" : `¹ of the ${count(parts)} that waited for an upstream`);
  showSignInFigures(readings);
}

function showSignInFigures(readings) {
  const signIns = (result) => readings.rate("gatehouse_sign_ins_total", LONG, hasResult(result));
  const minute = (each) => (each === null ? "–" : rate(each * 60));
  const latest = (name) => rate(course.latest(name, readings.time));
  const [succeeded, refused] = [signIns("success"), signIns("refused")];
  say(element("sign-ins"), succeeded === null ? latest("signIns") : minute(succeeded));
  say(element("sign-in-failures"), refused === null ? latest("signInsRefused") : minute(refused));
  dress(element("sign-in-failures"), "second");
  const isRefresh = (labels) => labels.operation === "refresh" && isDone(labels.result, "success");
  const refreshed = readings.rate("gatehouse_account_calls_total", LONG, isRefresh);
  const locked = readings.increase("gatehouse_account_limits_total", LONG);
  say(element("sign-in-note"), `${minute(refreshed)} refreshes a minute · ${count(locked)} refused by limits`);
}

const REPLICA_KINDS = { alive: "good", lost: "bad", ended: "note" };

/** The section is there only where gateways share a database. */
function showReplicas(status) {
  element("replica-section").hidden = !status.replicas;
  const ago = (seconds) => ({ text: seconds === null ? "–" : lasting(seconds), kind: "number" });
  fill("replicas", (status.replicas ?? []).map((each) => [
    { text: each.name, note: `${each.id.slice(0, 8)}${each.this ? ", this one" : ""}` },
    { text: each.state, note: `since ${lasting(serverTime(status) - each.started_at)}`, kind: REPLICA_KINDS[each.state] },
    ago(each.heard_seconds_ago),
    each.state === "ended" ? ago(null) : ago(each.list_age_seconds),
    { text: each.version, note: each.configuration },
  ]), "None is known.");
  const list = status.revocation_list;
  say(element("replica-note"), list ? (list.notified ? "Revocations are announced by the database." : "Revocations are asked for four times a second.") : "");
}

function showIssuers(status) {
  fill("issuers", status.issuers.map((issuer) => [
    { text: issuer.name, note: issuer.issuer },
    keyState(issuer),
    { text: issuer.key_age_seconds === null ? "–" : `${lasting(issuer.key_age_seconds)} ago`, kind: "number" },
    { text: count(issuer.key_failures), kind: issuer.key_failures > 0 ? "number warn" : "number" },
  ]), "No issuer is configured: no tokens are taken.");
}

function keyState(issuer) {
  if (issuer.keys === 0) return { text: "none", note: "no token counts", kind: "bad" };
  const due = issuer.keys_due_in_seconds;
  const text = plural(issuer.keys, "key");
  if (due === null) return { text, note: "not fetched", kind: "good" };
  return due < 0 ? { text: `${text}, overdue`, note: `by ${lasting(-due)}`, kind: "warn" }
    : { text, note: `fresh for ${lasting(due)}`, kind: "good" };
}

/** The section is there only where certificates are obtained from a directory. Faulty ones come first, each with its error. */
function showObtained(status) {
  element("acme-section").hidden = !status.acme;
  const now = serverTime(status);
  const ends = (each) => each.expires_at ?? 0;
  const rows = (status.acme ?? []).map((each) => ({ ...each, ...obtainedState(each, now) }));
  rows.sort((a, b) => RANKS[a.kind] - RANKS[b.kind] || ends(a) - ends(b));
  fill("acme", rows.flatMap((each) => [
    [
      each.name,
      { text: each.word, kind: each.kind },
      { text: each.expires_at === null ? "–" : each.expires_at > now ? lasting(each.expires_at - now) : "ended", kind: "number" },
      { text: each.next_attempt_at > now ? `in ${lasting(each.next_attempt_at - now)}` : "now", kind: "number" },
    ],
    ...(each.error ? [[{ text: `for ${lasting(now - each.failing_since)}: ${each.error}`, kind: "why", span: 4 }]] : []),
  ]), "");
}

/** Whether a call counts under a result. A refresh that gave its unused successor again is a success. */
const isDone = (result, column) => result === column || (column === "success" && result === "given_again");

function showAccountCalls(readings) {
  const metric = "gatehouse_account_calls_total";
  fill("calls", readings.by(metric, "operation", LONG).map((row) => [
    row.name,
    ...["success", "challenge", "refused"].map((result) => ({
      text: count(readings.increase(metric, LONG, (labels) => labels.operation === row.name && isDone(labels.result, result))),
      kind: "number",
    })),
    { text: count(row.total), kind: "number" },
  ]), "No account call has come yet.");
  const calls = (result) => count(readings.increase(metric, LONG, (labels) => isDone(labels.result, result)));
  say(element("call-sum"), `${calls("success")} done, ${calls("refused")} refused in the last ${spoken(readings)}`);
  const refused = readings.by(metric, "reason", LONG, (labels) => labels.result === "refused");
  const limited = readings.by("gatehouse_account_limits_total", "cause", LONG);
  const reasons = [...refused, ...limited.filter((row) => !refused.some((each) => each.name === row.name))];
  say(element("failure-sum"), reasons.length === 0 ? "none" : `mostly ${reasons[0].name}`);
  fill("failures", reasonRows(reasons), "None was refused.");
}

/** Reasons with a bar beneath each, as long as its part of the most frequent one. */
function reasonRows(rows) {
  const most = Math.max(...rows.map((row) => row.increase), 1);
  return rows.slice(0, 15).map((row) => [
    { text: row.name, share: row.increase / most },
    { text: count(row.increase), kind: "number" },
    { text: count(row.total), kind: "number" },
  ]);
}

const MODES = { block: "Calls are refused.", translate: "Calls are carried out with the secret added." };

function showApps(status) {
  const direct = status.direct_cognito;
  const now = serverTime(status);
  const rows = [...direct.applications].sort((a, b) => b.last_seen - a.last_seen || b.calls - a.calls);
  fill("apps", rows.slice(0, 20).map((row) => [
    row.application,
    { text: `${lasting(now - row.last_seen)} ago`, kind: "number" },
    { text: count(row.calls), kind: "number" },
    { text: count(row.refused), kind: "number" },
  ]), "None since the start.");
  say(element("app-sum"), rows.length === 0 ? "none" : plural(rows.length, "app"));
  const operations = Object.entries(direct.operations).map(([name, calls]) => `${name} ${count(calls)}`);
  const others = direct.other_applications > 0 ? [`${count(direct.other_applications)} calls of other apps`] : [];
  say(element("app-note"), [MODES[direct.mode] ?? direct.mode, ...operations, ...others].join(" · "));
}

function showCapacity(status, readings) {
  const { requests, connections, revocations } = status.limits;
  const limited = (name, number, limit) => [
    { text: name, share: limit > 0 ? number / limit : 0 }, { text: `${count(number)} of ${count(limit)}`, kind: "number" },
  ];
  const plain = (name, text, kind = "") => [name, { text, kind: `number ${kind}`.trim() }];
  const cache = (result) => readings.increase("gatehouse_token_cache_total", LONG, (labels) => labels.result === result);
  const verified = cache("hit") + cache("shared");
  const lost = readings.total("gatehouse_log_lines_lost_total");
  const rows = [
    limited("requests in flight", requests.in_flight, requests.limit),
    limited("connections", connections.open, connections.limit),
    limited("stored revocations", revocations.held, revocations.limit),
    plain("token cache hits", percent(verified, verified + cache("miss"))),
    plain("log lines lost", count(lost), lost > 0 ? "bad" : ""),
  ];
  const opened = readings.increase("gatehouse_upstream_connections_opened_total", LONG);
  const reused = readings.increase("gatehouse_upstream_connections_reused_total", LONG);
  rows.push(plain("upstream connections reused", percent(reused, opened + reused)));
  rows.push(plain("retries", count(readings.increase("gatehouse_upstream_retries_total", LONG))));
  if (status.outbox) rows.push(plain("messages to backends", `${count(status.outbox.waiting)} waiting, ${count(status.outbox.lost)} lost`));
  const [memory, open, most] = ["process_resident_memory_bytes", "process_open_fds", "process_max_fds"].map((name) => readings.total(name));
  const cores = readings.rate("process_cpu_seconds_total", SHORT);
  rows.push(plain("CPU", cores === null ? "–" : `${percent(cores, 1)} of a core`), plain("memory", bytes(memory)), limited("file descriptors", open, most));
  const { reloads, failed_reloads: failed } = status.configuration;
  rows.push(plain("configuration read again", `${count(reloads)}×, ${count(failed)} refused`));
  for (const listener of status.listeners) {
    const speaks = `${listener.tls ? "TLS, " : ""}HTTP/1.1${listener.http2 ? " and 2" : ""}`;
    const left = listener.certificates.map((each) => each.expires_at - serverTime(status));
    const note = left.length > 0 ? `certificate: ${lasting(Math.min(...left))}` : "";
    rows.push([`listens on ${listener.address}`, { text: speaks, note, kind: "number" }]);
  }
  fill("capacity", rows, "");
}

function showDenials(status, readings) {
  fill("denials", reasonRows(refusals(readings)), "Nothing was refused.");
  const now = serverTime(status);
  const ago = (seconds) => ({ text: lasting(now - seconds), kind: "fixed" });
  fill("recent-denials", status.recent_denials.slice(0, 12).map((denial) => {
    const request = `${denial.method} ${denial.path}`;
    return [
      { text: denial.reason, title: denial.reason },
      { text: lasting(now - denial.time), kind: "number" },
      { text: String(denial.status), kind: "number" },
      { text: request, title: request },
      { text: denial.client_address, title: denial.client_address },
      { text: denial.request_id, title: denial.request_id },
    ];
  }), "None since the start.");
  const [newest] = status.recent_audit_events;
  say(element("event-sum"), newest ? `${newest.event}, ${lasting(now - Date.parse(newest.time) / 1000)} ago` : "none");
  fill("recent-events", status.recent_audit_events.slice(0, 12).map((event) => [
    ago(Date.parse(event.time) / 1000),
    { text: [event.event, event.reason].filter(Boolean).join(": "), note: [event.operation, event.application, event.app_version, event.device_platform, event.client_address].filter(Boolean).join(" · ") },
  ]), "None since the start.");
}

/** On a wide screen these stand in other columns, so that the three are of a height. */
const WIDE = matchMedia("(min-width: 2000px)");
const PLACES = { "denial-section": ".latest", "issuer-section": ".services", "acme-section": ".side" };

function arrange() {
  for (const [id, place] of Object.entries(PLACES)) document.querySelector(WIDE.matches ? place : "#reasons").append(element(id));
}

WIDE.addEventListener("change", arrange);
arrange();
