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

/** The runbook's chapters for them; the others are the identity provider's. */
const OWN_FAULT_CHAPTERS = {
  "client-secret-refused": "The client secret is wrong",
  "client-unknown": "The client secret is wrong",
  "session-records-unavailable": "The disk is full",
  "session-keys-unavailable": "Keys cannot be read",
  "sealing-failed": "Keys cannot be read",
  "assertion-not-signed": "Keys cannot be read",
  "revocations-unavailable": "The database is away",
  "overloaded": "Overload",
  "overloaded-address": "Overload",
  "upstream-overloaded": "Overload",
};

/** A list of {level, text}, where level is "bad", "warn" or "note". Where they are known there are `since`, in seconds
    since 1970, `why`, the last error's text, and `requestID`, the last request that met it; and always the `chapter` of the
    runbook, or the `remedy` that this page has, or both. */
function attention(status, readings, readiness) {
  const found = [
    ...whole(status, readiness), ...settings(status), ...store(status), ...revocationList(status), ...replicas(status), ...certificates(status), ...orders(status), ...upstreams(status, readings),
    ...keys(status), ...refusedSignIns(status), ...ownKeys(status), ...answers(status, readings), ...failingRoutes(status, readings), ...ownFaults(status, readings), ...spikes(status, readings), ...signIns(status, readings),
    ...room(status), ...losses(status, readings),
  ];
  const order = ["bad", "warn", "note"];
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

/** The facts of the last error of a thing, where it has any. */
function lastError(error) {
  if (!error) return {};
  const why = error.request ? `${error.request}: ${error.error}` : error.error;
  return { since: error.since, why, requestID: error.request_id || undefined };
}

/** The last refusal for a reason. */
function lastRefusal(status, reason) {
  const found = status.refusals.find((each) => each.reason === reason);
  return found ? { since: found.since, why: `${found.request}: ${found.error}`, requestID: found.request_id } : {};
}

function* whole(status, readiness) {
  if (status.draining) {
    yield { level: "warn", text: "Draining: /readyz says 503, so that load balancers leave. Requests are served on.", since: status.draining_since, remedy: endDrain() };
  } else if (!status.ready) {
    yield { level: "bad", text: `Not ready: ${readiness || "/readyz says 503"}. Load balancers send nothing.`, chapter: "The gateway does not start or respond" };
  }
}

function* settings(status) {
  const { faults, failed_at: since } = status.configuration;
  if (faults.length === 0) return;
  const more = faults.length > 1 ? ` (and ${plural(faults.length - 1, "more error")})` : "";
  yield {
    level: "bad", text: `The last configuration was not applied, the previous one is in use: ${faults[0]}${more}`,
    since: since ?? undefined, chapter: "The gateway does not start or respond", remedy: reloadNow(),
  };
}

function* store(status) {
  if (!status.store || status.store.writable) return;
  const lost = status.store.needed ? "no sign-in, refresh or sign-out can be stored" : "no revocation can be stored";
  yield {
    level: "bad", text: `The store cannot be written, ${lost}: ${status.store.error}`, since: status.store.failing_since ?? undefined,
    chapter: status.replicas ? "The database is away" : "The disk is full",
  };
}

/** A list that several gateways share is read at least every second. */
function* revocationList(status) {
  const list = status.revocation_list;
  if (!list) return;
  const age = `The list of revocations is ${lasting(list.age_seconds)} old`;
  const more = { since: serverTime(status) - list.age_seconds, chapter: "The database is away" };
  if (list.too_old) {
    yield { level: "bad", text: `${age}: no token is accepted until the database can be read`, ...more };
  } else if (list.age_seconds >= 5) {
    yield { level: list.age_seconds >= 30 ? "bad" : "warn", text: `${age}: what other gateways revoke is not known here`, ...more };
  }
}

/** The other gateways, and how far they are from this one. */
function* replicas(status) {
  const [known, now] = [status.replicas ?? [], serverTime(status)];
  const own = known.find((each) => each.this);
  for (const each of known) {
    const is = `Gateway ${each.name} (${each.id.slice(0, 8)})`;
    if (each.state === "lost") {
      yield {
        level: "warn", text: `${is} has not been heard of for ${lasting(each.heard_seconds_ago)}, and did not end in good order`,
        since: now - each.heard_seconds_ago, chapter: "A gateway is lost",
      };
    } else if (each.state === "alive" && !each.this && each.list_age_seconds >= 5) {
      yield {
        level: "warn", text: `${is} has a list of revocations that is ${lasting(each.list_age_seconds)} old`,
        since: now - each.list_age_seconds, chapter: "The database is away",
      };
    }
  }
  const alive = known.filter((each) => each.state === "alive");
  const others = (field) => own && alive.some((each) => each[field] !== own[field]);
  const chapter = "A gateway is lost";
  if (others("version")) yield { level: "note", text: `Gateways run different versions: ${[...new Set(alive.map((each) => each.version))].join(", ")}`, chapter };
  if (others("configuration")) yield { level: "note", text: "Gateways run different configurations", remedy: reloadNow() };
}

function* certificates(status) {
  const now = serverTime(status);
  const shown = status.listeners.map(({ address, certificates }) => [address, certificates]);
  for (const [place, certificates] of [...shown, ["the admin listener", status.admin_certificates]]) {
    for (const { names, expires_at: end } of certificates) {
      const days = (end - now) / 86400;
      if (days >= CERTIFICATE_DAYS.warn) continue;
      const of = `The certificate of ${names[0] ?? "no name"} on ${place}`;
      const text = days <= 0 ? `${of} expired ${lasting(now - end)} ago` : `${of} expires in ${lasting(end - now)}`;
      const level = days < CERTIFICATE_DAYS.bad ? "bad" : "warn";
      // A warning begins so many days before the end.
      yield { level, text, since: days <= 0 ? end : end - CERTIFICATE_DAYS[level] * 86400, chapter: "A certificate has expired" };
    }
  }
}

/** After so many failures in a row there is an alert, too. */
const FAILED_ORDERS = 3;

/** How it stands with a certificate that is obtained from a directory. */
function obtainedState({ expires_at: end, failures, error }, now) {
  if (end === null) return error ? { word: "none", kind: "bad" } : { word: "ordered", kind: "warn" };
  if (end <= now) return { word: "expired", kind: "bad" };
  if (!error) return { word: "valid", kind: "good" };
  const isUrgent = end - now < CERTIFICATE_DAYS.bad * 86400;
  return { word: "not renewed", kind: isUrgent ? "bad" : failures >= FAILED_ORDERS ? "warn" : "note" };
}

/** Certificates that the directory does not give. */
function* orders(status) {
  const now = serverTime(status);
  for (const each of status.acme ?? []) {
    if (!each.error) continue;
    const { kind } = obtainedState(each, now);
    const isValid = each.expires_at !== null && each.expires_at > now;
    const what = isValid ? `The certificate of ${each.name} is valid for ${lasting(each.expires_at - now)}, and not renewed` : `There is no certificate of ${each.name}`;
    const tries = each.failures > 0 ? ` after ${plural(each.failures, "failed order")}` : "";
    const next = each.next_attempt_at > now ? `: the next order is in ${lasting(each.next_attempt_at - now)}` : "";
    const text = `${what}${tries}${next}`;
    yield { level: kind, text, since: each.failing_since, why: each.error, chapter: "A certificate has expired" };
  }
}

function* upstreams(status, readings) {
  const chapter = "The backend is down";
  for (const upstream of status.upstreams) {
    const states = upstream.servers.map((server) => ({ server, ...serverState(server) }));
    const serving = states.filter((state) => state.serves).length;
    if (serving === 0) {
      const which = states.map(({ server, word, note }) => `${server.name} is ${word} (${note})`).join(", ");
      // It has none since the last one is out.
      const [last] = [...states].sort((a, b) => (b.server.since ?? 0) - (a.server.since ?? 0));
      yield { level: "bad", text: `Upstream ${upstream.name} has no server that takes requests: ${which}`, ...downtime(last?.server), chapter };
      continue;
    }
    for (const { server, serves, word, note, kind } of states) {
      if (serves) continue;
      const text = `Upstream ${upstream.name}: ${server.name} is ${word} (${note})`;
      // Another one serves: nobody is turned away for it.
      if (server.drained) yield { level: kind, text, since: server.since ?? undefined, remedy: endServerDrain(upstream, server) };
      else yield { level: "warn", text, ...downtime(server), chapter };
    }
    yield* failing(upstream, readings);
  }
}

/** Since when a server is out, and why. */
function downtime(server) {
  if (!server) return {};
  const { why, requestID } = lastError(server.last_error);
  return { since: server.since ?? undefined, why: server.check_error ?? why, requestID };
}

/** Servers that get requests and do not answer them as they should. */
function* failing(upstream, readings) {
  for (const server of upstream.servers) {
    const is = (labels) => labels.upstream === upstream.name && labels.server === server.name;
    const failed = readings.increase("gatehouse_upstream_server_failures_total", SHORT, is);
    const asked = readings.increase("gatehouse_upstream_server_requests_total", SHORT, is);
    if (failed === 0 || !serverState(server).serves) continue;
    const level = failed * 2 >= asked ? "bad" : "warn";
    const text = `Upstream ${upstream.name}: ${server.name} failed ${count(failed)} of ${plural(Math.max(asked, failed), "request")} in the ${lately(readings)}`;
    yield { level, text, ...lastError(server.last_error), chapter: "The backend is down" };
  }
}

function* keys(status) {
  for (const issuer of status.issuers) {
    const left = issuer.keys_end_in_seconds;
    const more = { since: issuer.key_failing_since ?? undefined, why: issuer.key_error ?? undefined, chapter: "The identity provider is down" };
    if (issuer.keys === 0) {
      yield { level: "bad", text: `Tokens of ${issuer.name} cannot be verified: there is no key set, after ${plural(issuer.key_failures, "failed fetch", "failed fetches")}`, ...more };
    } else if (issuer.keys_due_in_seconds < 0) {
      const until = left === null ? "" : `, and serve for ${lasting(left)} more`;
      const since = issuer.key_failing_since ?? serverTime(status) + issuer.keys_due_in_seconds;
      yield { level: left < 3600 ? "bad" : "warn", text: `The keys of ${issuer.name} should have been fetched again ${lasting(-issuer.keys_due_in_seconds)} ago${until}`, ...more, since };
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
    const { requestID } = lastRefusal(status, refused);
    yield {
      level: "bad", text: `Users sign in at ${issuer}, and the gateway refuses their tokens as ${refused}${what}`,
      requestID, chapter: "Tokens are refused after a key rotation",
    };
  }
}

/** The gateway's own keys: those in use stay, and another gateway's rotation is not followed. */
function* ownKeys(status) {
  for (const { purpose, error } of status.own_keys ?? []) {
    if (error) yield { level: "bad", text: `The stored ${purpose} keys cannot be read, those in use stay: ${error}`, chapter: "Keys cannot be read" };
  }
}

function* answers(status, readings) {
  const all = readings.increase("gatehouse_requests_total", SHORT);
  const failed = readings.increase("gatehouse_requests_total", SHORT, isRequest("5xx"));
  if (failed < 3 || failed / all < 0.01) return;
  const recent = status.route_errors.filter((each) => serverTime(status) - each.time <= SHORT);
  const [newest] = recent;
  const since = recent.length > 0 ? Math.min(...recent.map((each) => each.since)) : undefined;
  yield {
    level: failed / all >= 0.05 ? "bad" : "warn",
    text: `${percent(failed, all)} of requests got a 5xx response in the ${lately(readings)}: ${count(failed)} of ${count(all)}`,
    ...lastError(newest), since, chapter: "The backend is down",
  };
}

/** Routes with many errors, where those are few among all requests. */
function* failingRoutes(status, readings) {
  const responses = (matches) => readings.increase("gatehouse_requests_total", SHORT, matches);
  if (responses(isRequest("5xx")) >= 0.05 * responses()) return;
  for (const { name } of readings.by("gatehouse_requests_total", "route", SHORT, isRequest("5xx"))) {
    const all = responses((labels) => labels.route === name);
    const failed = responses((labels) => labels.route === name && labels.status === "5xx");
    if (failed < 3 || failed / all < 0.05) continue;
    yield {
      level: "warn", text: `Route ${name}: ${percent(failed, all)} of requests got a 5xx response in the ${lately(readings)}: ${count(failed)} of ${count(all)}`,
      ...lastError(status.route_errors.find((each) => (each.route ?? "none") === name)), chapter: "The backend is down",
    };
  }
}

function* ownFaults(status, readings) {
  for (const row of refusals(readings)) {
    if (!OWN_FAULTS[row.name] || row.increase === 0) continue;
    yield {
      level: "bad", text: `${OWN_FAULTS[row.name]}: ${plural(row.increase, "request")} refused as ${row.name} in the last ${spoken(readings)}`,
      ...lastRefusal(status, row.name), chapter: OWN_FAULT_CHAPTERS[row.name] ?? "The identity provider is down",
    };
  }
}

/** A minute with three times the refusals of the minutes before it, where those are enough to tell. */
function* spikes(status, readings) {
  if (readings.covered(LONG) < 2 * SHORT) return;
  const now = readings.increase("gatehouse_denials_total", SHORT);
  const minutes = (readings.covered(LONG) - SHORT) / 60;
  const usual = (readings.increase("gatehouse_denials_total", LONG) - now) / minutes;
  if (now < 30 || now < 3 * usual) return;
  const [most] = readings.by("gatehouse_denials_total", "reason", SHORT);
  yield {
    level: "warn", text: `${count(now)} requests were refused in the last minute, usually ${count(usual)}; mostly ${most.name}`,
    ...lastRefusal(status, most.name), chapter: "First steps",
  };
}

/** The account calls that sign users in. Sign-ins are counted without their reasons, and these calls with them. */
const SIGN_IN_CALLS = new Set(["login", "challenge", "oauth-token"]);

function* signIns(status, readings) {
  const [done, refused] = ["success", "refused"].map((result) => readings.increase("gatehouse_sign_ins_total", LONG, hasResult(result)));
  if (refused < 10 || refused < done) return;
  const isRefused = (labels) => SIGN_IN_CALLS.has(labels.operation) && labels.result === "refused";
  const [most] = readings.by("gatehouse_account_calls_total", "reason", LONG, isRefused);
  const mostly = most ? `, mostly ${most.name}` : "";
  yield {
    level: "warn", text: `More sign-ins fail than succeed: ${count(refused)} against ${count(done)} in the last ${spoken(readings)}${mostly}`,
    ...lastRefusal(status, most?.name), chapter: "Accounts are locked",
  };
}

function* room(status) {
  const places = [
    ["Requests in flight", status.limits.requests.in_flight, status.limits.requests.limit, "Overload"],
    ["Open connections", status.limits.connections.open, status.limits.connections.limit, "Overload"],
    ["Stored revocations", status.limits.revocations.held, status.limits.revocations.limit, "The revocation list fills up"],
  ];
  for (const [what, number, limit, chapter] of places) {
    if (limit <= 0 || number / limit < 0.8) continue;
    yield { level: number / limit >= 0.95 ? "bad" : "warn", text: `${what}: ${count(number)} of at most ${count(limit)}`, chapter };
  }
}

/** Log lines and messages that were lost, and messages that wait. */
function* losses(status, readings) {
  for (const { name, increase, total } of readings.by("gatehouse_log_lines_lost_total", "log", LONG)) {
    const lately = increase > 0 ? `${count(increase)} of them in the last ${spoken(readings)}` : "none of them lately";
    yield { level: increase > 0 ? "bad" : "warn", text: `${plural(total, "line")} of the ${name} log could not be written, ${lately}`, chapter: "The disk is full" };
  }
  const { lost = 0, waiting = 0 } = status.outbox ?? {};
  const chapter = "The backend is down";
  if (lost > 0) yield { level: "warn", text: `${plural(lost, "message")} to backends were given up since the start`, chapter };
  if (waiting > 1000) yield { level: "warn", text: `${plural(waiting, "message")} to backends wait`, chapter };
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
