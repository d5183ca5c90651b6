"use strict";

/* Changes from this page: each is asked about before it is made, and its result is shown. */

/** How long a reload may take: it fetches the key sets of new issuers. */
const CHANGE_PATIENCE = 60000;

/* A change is {label, short, method, path, question, yes, said}: the words of its buttons, the call, what is asked before
   it, and what is said of a response of 200, as [text, lines]. */

function reloadNow() {
  return {
    label: "Reload", short: "Reload", method: "POST", path: "reload", yes: "Reload",
    question: "Reads the configuration again, as SIGHUP does. A configuration with errors changes nothing.",
    said: ({ diff }) => [diff.length > 0 ? "The configuration was reloaded:" : "The configuration was reloaded, and nothing in it has changed.", diff],
  };
}

function drainGateway() {
  return {
    label: "Drain", short: "Drain", method: "POST", path: "drain", yes: "Drain this gateway",
    question: "Makes /readyz return 503, so that load balancers send their requests to other gateways. Requests that come all the same are served.",
    said: () => ["This gateway drains.", []],
  };
}

function endDrain() {
  return {
    label: "End the drain", short: "End the drain", method: "DELETE", path: "drain", yes: "End the drain",
    question: "Makes /readyz report the gateway’s own state again, so that load balancers send requests.",
    said: ({ ready }) => [ready ? "This gateway drains no more, and is ready." : "This gateway drains no more. It is not ready yet.", []],
  };
}

function serverPath(upstream, server) { return `upstreams/${encodeURIComponent(upstream.name)}/${encodeURIComponent(server.name)}/drain`; }

function drainServer(upstream, server) {
  const others = upstream.servers.filter((each) => each !== server && serverState(each).serves).length;
  const rest = others > 0 ? `${plural(others, "other server")} of ${upstream.name} ${others === 1 ? "takes" : "take"} its requests.`
    : `No other server of ${upstream.name} takes requests: all requests to it will get 503.`;
  return {
    label: `Drain ${server.name} of ${upstream.name}`, short: "Drain", method: "POST", path: serverPath(upstream, server), yes: "Drain",
    question: `${server.name} finishes the requests it has and gets no new ones, also after a reload. ${rest}`,
    said: () => [`${server.name} of ${upstream.name} is drained.`, []],
  };
}

function endServerDrain(upstream, server) {
  return {
    label: `Use ${server.name} of ${upstream.name} again`, short: "Use again", method: "DELETE", path: serverPath(upstream, server), yes: "Use again",
    question: `${server.name} gets requests again.`,
    said: () => [`${server.name} of ${upstream.name} gets requests again.`, []],
  };
}

function showControls(status) {
  element("controls").hidden = false;
  element("forget").hidden = sessionStorage.getItem(TOKEN) === null;
  const drain = status.draining ? endDrain() : drainGateway();
  say(element("drain"), drain.label);
  element("drain").onclick = () => propose(drain);
}

let proposed = null;

/** Asks before a change. */
function propose(change) {
  proposed = change;
  say(element("question-title"), `${change.label}?`);
  say(element("question-text"), change.question);
  say(element("question-yes"), change.yes);
  element("question").showModal();
}

async function carryOut(change) {
  element("question").close();
  showResult("", "In progress …", []);
  try {
    const response = await call(change.method, change.path, CHANGE_PATIENCE);
    const text = await response.text();
    showResult(response.ok ? "good" : "bad", ...outcome(change, response.status, text));
  } catch (error) {
    showResult("bad", `${change.label}: ${error.name === "TimeoutError" ? `no response within ${CHANGE_PATIENCE / 1000} seconds` : "the gateway cannot be reached"}. It may be done all the same.`, []);
  }
  // A question that is under way may be answered with what was before.
  await Promise.resolve(asking).then(refresh);
}

/** The text and the lines that are said of a response. */
function outcome(change, status, text) {
  let body = {};
  try { body = JSON.parse(text); } catch { return [`${change.label}: the gateway responded with ${status}.`, []]; }
  if (status === 200) return change.said(body);
  if (body.faults) return ["The configuration was not reloaded. The one in use stays:", body.faults];
  const why = `${change.label} was refused (${status}): ${body.message}`;
  return [status === 401 || status === 403 ? `${why} The token of this page does not allow it.` : why, []];
}

function showResult(kind, text, lines) {
  const result = element("result");
  result.hidden = false;
  dress(result, kind);
  say(element("result-text"), text);
  amount(element("result-lines"), lines.length, "li");
  lines.forEach((line, index) => say(element("result-lines").children[index], line));
}

element("reload").onclick = () => propose(reloadNow());
element("question-yes").onclick = () => carryOut(proposed);
element("question-no").onclick = () => element("question").close();
element("result-close").onclick = () => { element("result").hidden = true; };
