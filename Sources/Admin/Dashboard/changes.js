"use strict";

/* Changes from this page: each is asked about before it is made, and its result is shown. */

/** How long a reload may take: it fetches the key sets of new issuers. */
const CHANGE_PATIENCE = 60000;

/* A change is {label, short, right, method, path, question, yes, said}: the words of its buttons, the right that its token
   needs, the call, what is asked before it, and what is said of a response of 200, as [text, lines]. */

/** {name, may} of the token that this page uses, as /status has them; null where none is required. */
let operator = null;

/** The rights of changes that this page can make, in words. */
const CHANGES = { reload: "reload the configuration", drain: "drain servers or the gateway" };

/** Why the operator may not make a change; empty where that is allowed. */
function forbidden({ right }) {
  if (operator === null) return "The gateway takes changes with a token only. Set admin.token or admin.tokens in its configuration.";
  if (operator.may.includes(right)) return "";
  return `The token of ${operator.name} may not ${CHANGES[right]}. Add "${right}" to admin.tokens.${operator.name}.may in the configuration, or use another token.`;
}

/** The operator's name, with a remark where some of this page's buttons are not for that token. */
function operatorFact() {
  const lacking = Object.keys(CHANGES).filter((right) => !operator.may.includes(right));
  if (lacking.length === 0) return operator.name;
  return lacking.length < Object.keys(CHANGES).length ? `${operator.name}, no ${lacking.join(" or ")}` : `${operator.name}, read only`;
}

/** Makes a button propose a change. Where that is forbidden it says why, to pointers and to those who do not see it. */
function offer(button, change) {
  const why = forbidden(change);
  button.ariaDisabled = why ? "true" : null;
  button.ariaDescription = why || null;
  button.title = why;
  button.onclick = () => propose(change);
}

function reloadNow() {
  return {
    label: "Reload", short: "Reload", right: "reload", method: "POST", path: "reload", yes: "Reload",
    question: "Reads the configuration again, as SIGHUP does. A configuration with errors changes nothing.",
    said: ({ diff }) => [diff.length > 0 ? "The configuration was reloaded:" : "The configuration was reloaded, and nothing in it has changed.", diff],
  };
}

function drainGateway() {
  return {
    label: "Drain", short: "Drain", right: "drain", method: "POST", path: "drain", yes: "Drain this gateway",
    question: "Makes /readyz return 503, so that load balancers send their requests to other gateways. Requests that come all the same are served.",
    said: () => ["This gateway drains.", []],
  };
}

function endDrain() {
  return {
    label: "End the drain", short: "End the drain", right: "drain", method: "DELETE", path: "drain", yes: "End the drain",
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
    label: `Drain ${server.name} of ${upstream.name}`, short: "Drain", right: "drain", method: "POST", path: serverPath(upstream, server), yes: "Drain",
    question: `${server.name} finishes the requests it has and gets no new ones, also after a reload. ${rest}`,
    said: () => [`${server.name} of ${upstream.name} is drained.`, []],
  };
}

function endServerDrain(upstream, server) {
  return {
    label: `Use ${server.name} of ${upstream.name} again`, short: "Use again", right: "drain", method: "DELETE", path: serverPath(upstream, server), yes: "Use again",
    question: `${server.name} gets requests again.`,
    said: () => [`${server.name} of ${upstream.name} gets requests again.`, []],
  };
}

function showControls(status) {
  element("controls").hidden = false;
  element("forget").hidden = sessionStorage.getItem(TOKEN) === null;
  const drain = status.draining ? endDrain() : drainGateway();
  say(element("drain"), drain.label);
  offer(element("drain"), drain);
  offer(element("reload"), reloadNow());
}

let proposed = null;

/** Asks before a change, or says why it is forbidden. */
function propose(change) {
  const why = forbidden(change);
  proposed = change;
  say(element("question-title"), why ? `${change.label} is not allowed` : `${change.label}?`);
  say(element("question-text"), why || change.question);
  say(element("question-yes"), change.yes);
  element("question-yes").hidden = why !== "";
  say(element("question-no"), why ? "Close" : "Cancel");
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

element("question-yes").onclick = () => carryOut(proposed);
element("question-no").onclick = () => element("question").close();
element("result-close").onclick = () => { element("result").hidden = true; };
