"use strict";

/* The problems in plain words, the worst first. */

/** Figures are of the last minute, tables of the last five. */
const SHORT = 60;
const LONG = 300;
/** How long ahead a certificate's end is told, and when it is urgent. */
const CERTIFICATE_DAYS = { warn: 14, bad: 3 };

/** Refusals that say that the gateway, or what it is to Cognito or Apple, is at fault. */
const OWN_FAULTS = {
  "client-secret-refused": "Cognito does not take the client secret",
  "client-unknown": "Cognito does not know the app client",
  "signature-refused": "Cognito does not take the AWS signature",
  "aws-credentials-missing": "There are no AWS credentials",
  "flow-not-enabled": "The app client does not allow the sign-in flow",
  "pool-misconfigured": "The user pool is not set up for what is asked of it",
  "blocked-by-firewall": "A firewall stands between the gateway and Cognito",
  "provider-unavailable": "Cognito does not respond",
  "provider-error": "Cognito returns errors",
  "apple-client-refused": "Apple does not take the gateway's key",
  "apple-unavailable": "Apple does not respond",
  "keys-unavailable": "Tokens cannot be verified for want of keys",
  "session-records-unavailable": "The store does not respond",
  "session-keys-unavailable": "There are no keys for sessions",
  "sealing-failed": "Refresh tokens cannot be sealed",
  "assertion-not-signed": "Assertions cannot be signed",
  "revocations-unavailable": "Nobody knows which tokens are revoked",
  "overloaded": "More came than limits let in",
  "overloaded-address": "More came from one address than limits let in",
  "upstream-overloaded": "More waited for an upstream than may",
};

/** A list of {level, text}, where level is "bad", "warn" or "note". */
function attention(status, readings, readiness) {
  const found = [
    ...whole(status, readiness), ...settings(status), ...store(status), ...revocationList(status), ...replicas(status), ...certificates(status), ...upstreams(status, readings),
    ...keys(status), ...refusedSignIns(status), ...ownKeys(status), ...answers(readings), ...ownFaults(readings), ...spikes(readings), ...signIns(readings),
    ...room(status), ...losses(status, readings),
  ];
  const order = ["bad", "warn", "note"];
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

function* whole(status, readiness) {
  if (status.draining) {
    yield { level: "warn", text: "Draining: /readyz says 503, so that load balancers leave. Requests are served on." };
  } else if (!status.ready) {
    yield { level: "bad", text: `Not ready: ${readiness || "/readyz says 503"}. Load balancers send nothing.` };
  }
}

function* settings(status) {
  const faults = status.configuration.faults;
  if (faults.length === 0) return;
  const more = faults.length > 1 ? ` (and ${plural(faults.length - 1, "more error")})` : "";
  yield { level: "bad", text: `The last configuration was not applied, the previous one is in use: ${faults[0]}${more}` };
}

function* store(status) {
  if (!status.store || status.store.writable) return;
  const lost = status.store.needed ? "no sign-in, refresh or sign-out can be stored" : "no revocation can be stored";
  yield { level: "bad", text: `The store cannot be written, ${lost}: ${status.store.error}` };
}

/** A list that several gateways share is read at least every second. */
function* revocationList(status) {
  const list = status.revocation_list;
  if (!list) return;
  const age = `The list of revocations is ${lasting(list.age_seconds)} old`;
  if (list.too_old) {
    yield { level: "bad", text: `${age}: no token is accepted until the database can be read` };
  } else if (list.age_seconds >= 5) {
    yield { level: list.age_seconds >= 30 ? "bad" : "warn", text: `${age}: what other gateways revoke is not known here` };
  }
}

/** The other gateways, and how far they are from this one. */
function* replicas(status) {
  const known = status.replicas ?? [];
  const own = known.find((each) => each.this);
  for (const each of known) {
    const is = `Gateway ${each.name} (${each.id.slice(0, 8)})`;
    if (each.state === "lost") {
      yield { level: "warn", text: `${is} has not been heard of for ${lasting(each.heard_seconds_ago)}, and did not end in good order` };
    } else if (each.state === "alive" && !each.this && each.list_age_seconds >= 5) {
      yield { level: "warn", text: `${is} has a list of revocations that is ${lasting(each.list_age_seconds)} old` };
    }
  }
  const alive = known.filter((each) => each.state === "alive");
  const others = (field) => own && alive.some((each) => each[field] !== own[field]);
  if (others("version")) yield { level: "note", text: `Gateways run different versions: ${[...new Set(alive.map((each) => each.version))].join(", ")}` };
  if (others("configuration")) yield { level: "note", text: "Gateways run different configurations" };
}

function* certificates(status) {
  const now = serverTime(status);
  for (const listener of status.listeners) {
    for (const { names, expires_at: end } of listener.certificates) {
      const days = (end - now) / 86400;
      if (days >= CERTIFICATE_DAYS.warn) continue;
      const of = `The certificate of ${names[0] ?? "no name"} on ${listener.address}`;
      const text = days <= 0 ? `${of} expired ${lasting(now - end)} ago` : `${of} expires in ${lasting(end - now)}`;
      yield { level: days < CERTIFICATE_DAYS.bad ? "bad" : "warn", text };
    }
  }
}

function* upstreams(status, readings) {
  for (const upstream of status.upstreams) {
    const states = upstream.servers.map((server) => ({ server, ...serverState(server) }));
    const serving = states.filter((state) => state.serves).length;
    if (serving === 0) {
      const why = states.map(({ server, word, note }) => `${server.name} is ${word} (${note})`).join(", ");
      yield { level: "bad", text: `Upstream ${upstream.name} has no server that takes requests: ${why}` };
      continue;
    }
    for (const { server, serves, word, note, kind } of states) {
      // Another one serves: nobody is turned away for it.
      if (!serves) yield { level: kind === "bad" ? "warn" : kind, text: `Upstream ${upstream.name}: ${server.name} is ${word} (${note})` };
    }
    yield* failing(upstream, readings);
  }
}

/** Servers that get requests and do not answer them as they should. */
function* failing(upstream, readings) {
  for (const server of upstream.servers) {
    const is = (labels) => labels.upstream === upstream.name && labels.server === server.name;
    const failed = readings.increase("gatehouse_upstream_server_failures_total", SHORT, is);
    const asked = readings.increase("gatehouse_upstream_server_requests_total", SHORT, is);
    if (failed === 0 || !serverState(server).serves) continue;
    const level = failed * 2 >= asked ? "bad" : "warn";
    yield { level, text: `Upstream ${upstream.name}: ${server.name} failed ${count(failed)} of ${plural(Math.max(asked, failed), "request")} in the ${lately(readings)}` };
  }
}

function* keys(status) {
  for (const issuer of status.issuers) {
    const left = issuer.keys_end_in_seconds;
    if (issuer.keys === 0) {
      yield { level: "bad", text: `Tokens of ${issuer.name} cannot be verified: there is no key set, after ${plural(issuer.key_failures, "failed fetch", "failed fetches")}` };
    } else if (issuer.keys_due_in_seconds < 0) {
      const until = left === null ? "" : `, and serve for ${lasting(left)} more`;
      yield { level: left < 3600 ? "bad" : "warn", text: `The keys of ${issuer.name} should have been fetched again ${lasting(-issuer.keys_due_in_seconds)} ago${until}` };
    }
  }
}

/** Pools that give tokens which the gateway itself refuses: signing in works, and no call after it. */
function* refusedSignIns(status) {
  for (const { issuer, refused, differences } of status.sign_ins ?? []) {
    if (!refused) continue;
    const quoted = (values) => values.map((value) => `"${value}"`).join(" or ");
    const points = differences.map(({ name, expected, got, seconds_off: off }) => {
      if (off !== null) return `${name} should be ${expected.join("")} and is ${got}, which is ${off} s off`;
      return `${name} should be ${quoted(expected)} and is ${got === null ? "missing" : `"${got}"`}`;
    });
    const what = points.length > 0 ? `: ${points.join("; ")}` : "";
    yield { level: "bad", text: `Users sign in at ${issuer}, and the gateway refuses their tokens as ${refused}${what}` };
  }
}

/** The gateway's own keys: those in use stay, and another gateway's rotation is not followed. */
function* ownKeys(status) {
  for (const { purpose, error } of status.own_keys ?? []) {
    if (error) yield { level: "bad", text: `The stored ${purpose} keys cannot be read, those in use stay: ${error}` };
  }
}

function* answers(readings) {
  const all = readings.increase("gatehouse_requests_total", SHORT);
  const failed = readings.increase("gatehouse_requests_total", SHORT, isRequest("5xx"));
  if (failed < 3 || failed / all < 0.01) return;
  yield { level: failed / all >= 0.05 ? "bad" : "warn", text: `${percent(failed, all)} of requests got a 5xx response in the ${lately(readings)}: ${count(failed)} of ${count(all)}` };
}

function* ownFaults(readings) {
  for (const row of refusals(readings)) {
    if (!OWN_FAULTS[row.name] || row.increase === 0) continue;
    yield { level: "bad", text: `${OWN_FAULTS[row.name]}: ${plural(row.increase, "request")} refused as ${row.name} in the last ${spoken(readings)}` };
  }
}

/** A minute with three times the refusals of the minutes before it, where those are enough to tell. */
function* spikes(readings) {
  if (readings.covered(LONG) < 2 * SHORT) return;
  const now = readings.increase("gatehouse_denials_total", SHORT);
  const minutes = (readings.covered(LONG) - SHORT) / 60;
  const usual = (readings.increase("gatehouse_denials_total", LONG) - now) / minutes;
  if (now < 30 || now < 3 * usual) return;
  const [most] = readings.by("gatehouse_denials_total", "reason", SHORT);
  yield { level: "warn", text: `${count(now)} requests were refused in the last minute, usually ${count(usual)}; mostly ${most.name}` };
}

function* signIns(readings) {
  const done = readings.increase("gatehouse_account_calls_total", LONG, isLogin("success"));
  const refused = readings.increase("gatehouse_account_calls_total", LONG, isLogin("refused"));
  if (refused < 10 || refused < done) return;
  const [most] = readings.by("gatehouse_account_calls_total", "reason", LONG, isLogin("refused"));
  yield { level: "warn", text: `More sign-ins fail than succeed: ${count(refused)} against ${count(done)} in the last ${spoken(readings)}, mostly ${most.name}` };
}

function* room(status) {
  const places = [
    ["Requests in flight", status.limits.requests.in_flight, status.limits.requests.limit],
    ["Open connections", status.limits.connections.open, status.limits.connections.limit],
    ["Stored revocations", status.limits.revocations.held, status.limits.revocations.limit],
  ];
  for (const [what, number, limit] of places) {
    if (limit <= 0 || number / limit < 0.8) continue;
    yield { level: number / limit >= 0.95 ? "bad" : "warn", text: `${what}: ${count(number)} of at most ${count(limit)}` };
  }
}

/** Log lines and messages that were lost, and messages that wait. */
function* losses(status, readings) {
  for (const { name, increase, total } of readings.by("gatehouse_log_lines_lost_total", "log", LONG)) {
    const lately = increase > 0 ? `${count(increase)} of them in the last ${spoken(readings)}` : "none of them lately";
    yield { level: increase > 0 ? "bad" : "warn", text: `${plural(total, "line")} of the ${name} log could not be written, ${lately}` };
  }
  const { lost = 0, waiting = 0 } = status.outbox ?? {};
  if (lost > 0) yield { level: "warn", text: `${plural(lost, "message")} to backends were given up since the start` };
  if (waiting > 1000) yield { level: "warn", text: `${plural(waiting, "message")} to backends wait` };
}

/** Why requests and account calls were refused, lately. */
function refusals(readings) { return readings.by("gatehouse_denials_total", "reason", LONG); }

function serverState(server) {
  if (server.drained) return { serves: false, word: "drained", note: "by an operator", kind: "note" };
  if (server.healthy === false) return { serves: false, word: "down", note: "checks fail", kind: "bad" };
  if (!server.serving) return { serves: false, word: "ejected", note: "after failures", kind: "bad" };
  const note = server.healthy === null ? "not checked" : "checks pass";
  return { serves: true, word: "serving", note, kind: "good" };
}

/** How long the longer differences are, in words. */
function spoken(readings) { return lasting(Math.min(readings.covered(LONG), LONG)); }

/** How long the shorter ones are: a page that has just been opened knows of no minute yet. */
function lately(readings) {
  const covered = readings.covered(SHORT);
  return covered >= 0.9 * SHORT ? "last minute" : `last ${lasting(covered)}`;
}

/** Seconds since 1970 by the gateway's clock. */
function serverTime(status) { return status.started_at + status.uptime_seconds; }
