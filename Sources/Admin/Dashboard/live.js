"use strict";

/* Asking, every few seconds, and what is shown when there is no answer. */

const INTERVAL = 3000;
const PATIENCE = 10000;
const TOKEN = "gatehouse-admin-token";
const WORDS = { bad: "Urgent", warn: "Attention", note: "Note", good: "All well" };

const readings = new Readings();
const course = new Course();
/** The problem with the connection itself; null while there are responses. */
let outage = null;
/** When /status was last answered, by the steady clock in seconds; null before. */
let answeredAt = null;
let lastProblems = [];
/** Which problems were read out last. */
let announced = "";
let timer = null;
let asking = null;

/** The listener wants another token; the message says why, and is empty where none was sent. */
class Refused extends Error {}

/** The response of the admin listener, with the token in its header. */
function call(method, path, patience) {
  const token = sessionStorage.getItem(TOKEN);
  return fetch(path, {
    method, headers: token ? { Authorization: `Bearer ${token}` } : {},
    cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(patience),
  });
}

/** The text of a page of the admin listener. Throws `Refused` where it wants another token. */
async function ask(page) {
  const response = await call("GET", page, PATIENCE);
  if (response.status === 401) throw new Refused(sessionStorage.getItem(TOKEN) === null ? "" : "The gateway does not take this token.");
  if (response.status === 403) throw new Refused(`The gateway does not show /${page} to this page: ${await messageOf(response)}`);
  // Not ready is an answer, too.
  if (!response.ok && page !== "readyz") throw new Error(`it responded with ${response.status}`);
  return response.text();
}

/** The gateway's own sentence about an error. */
async function messageOf(response) {
  const text = await response.text();
  try { return JSON.parse(text).message ?? text; } catch { return text; }
}

/** Asks once and shows what comes of it. Whoever asks meanwhile waits for the same. */
function refresh() {
  asking ??= askAndShow().finally(() => { asking = null; });
  return asking;
}

async function askAndShow() {
  clearTimeout(timer);
  try {
    const [status, metrics] = await Promise.all([ask("status"), ask("metrics")]);
    const told = JSON.parse(status);
    const readiness = told.ready ? "" : (await ask("readyz")).trim().split("\n").join(", ");
    const isFirst = readings.startedAt !== told.started_at;
    if (course.lacks(now())) course.fill(JSON.parse(await ask("history")), now());
    show(told, parseMetrics(metrics), readiness);
    // Rates take two readings: the second comes soon.
    again(isFirst ? 1000 : INTERVAL);
  } catch (error) {
    if (error instanceof Refused) return enter(error.message);
    outage ??= { since: new Date() };
    outage.reason = reason(error);
    showOutage();
    again(INTERVAL);
  }
}

function reason(error) {
  if (error.name === "TimeoutError") return `no response within ${PATIENCE / 1000} seconds`;
  return error instanceof TypeError ? "it cannot be reached" : error.message;
}

/** While nobody looks nothing is asked. */
function again(milliseconds) {
  clearTimeout(timer);
  timer = document.visibilityState === "visible" ? setTimeout(refresh, milliseconds) : null;
}

function now() { return performance.now() / 1000; }

function show(status, metrics, readiness) {
  [outage, answeredAt] = [null, now()];
  readings.add(answeredAt, status.started_at, metrics);
  if (readings.covered(LONG) >= SHORTEST_RATE) course.add(readings);
  element("entrance").hidden = true;
  element("board").hidden = false;
  document.body.classList.remove("aged", "blank");
  for (const node of document.querySelectorAll(".minute")) say(node, readings.covered(SHORT) < 1 ? "" : lately(readings));
  for (const node of document.querySelectorAll(".window")) say(node, readings.covered(LONG) < 1 ? "so far" : `last ${spoken(readings)}`);
  operator = status.caller;
  lastProblems = attention(status, readings, readiness);
  showHeader(status, lastProblems);
  showProblems(lastProblems.length > 0 ? lastProblems : [{ level: "good", text: "Nothing needs attention." }], serverTime(status));
  showFigures(status, readings);
  showTargets(status, readings);
  showControls(status);
  showReplicas(status);
  showIssuers(status);
  showObtained(status);
  showAccountCalls(readings);
  showApps(status);
  showCapacity(status, readings);
  showDenials(status, readings);
  for (const name of Object.keys(CHARTS)) drawChart(name, course, answeredAt);
}

/** The state by `/readyz`. A ready gateway may still have problems. */
function stateOf(status, problems) {
  if (status.draining) return ["Draining", "warn"];
  if (!status.ready) return ["Not ready", "bad"];
  return problems.some(({ level }) => level === "bad") ? ["Ready, with problems", "warn"] : ["Ready", "good"];
}

function showHeader(status, problems) {
  const [word, kind] = stateOf(status, problems);
  say(element("version"), status.version);
  showState(word, kind);
  const { digest, in_use_since: since } = status.configuration;
  const facts = [
    ["up", lasting(status.uptime_seconds)],
    ["configuration", `${digest}${since === null ? "" : `, for ${lasting(serverTime(status) - since)}`}`],
  ];
  if (operator !== null) facts.push(["operator", operatorFact()]);
  const list = element("facts");
  amount(list, facts.length, "div");
  facts.forEach(([name, value], index) => {
    const entry = list.children[index];
    if (!entry.firstChild) entry.append(document.createElement("dt"), document.createElement("dd"));
    say(entry.children[0], name);
    say(entry.children[1], value);
  });
  say(element("updated"), `as of ${new Date().toLocaleTimeString()}`);
}

function showState(word, kind) {
  say(element("state"), word);
  dress(element("state"), `state ${kind}`);
  document.title = `${word} · Gatehouse`;
}

/** A problem without its numbers, which change. */
function signature({ level, text }) { return level + text.replace(/\d+/g, ""); }

/** When this page first saw the problems that are there now, by the gateway's clock, and whether it saw them begin. */
let seen = new Map();
let hasLooked = false;

/** Since when there is a problem: as the gateway says, else as this page has seen. */
function begun(problem, now) {
  if (problem.level === "good") return "";
  const first = seen.get(signature(problem)) ?? { time: now, began: hasLooked };
  const time = problem.since ?? first.time;
  const before = problem.since === undefined && !first.began ? " or before" : "";
  return `since ${moment(time)}${before} (${lasting(now - time)})`;
}

/** `now` by the gateway's clock; null while that is not known. */
function showProblems(problems, now = null) {
  const counts = new Map();
  const keys = problems.map((problem) => {
    const key = signature(problem);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return `${key} ${counts.get(key)}`;
  });
  keyed(element("problems"), keys, makeProblem).forEach((entry, index) => showProblem(entry, problems[index], now));
  if (now !== null) {
    const times = problems.map((each) => [signature(each), seen.get(signature(each)) ?? { time: now, began: hasLooked }]);
    [seen, hasLooked] = [new Map(times), true];
  }
  announce(problems);
}

/** An entry with the problem, and below it since when, why, and what to do. */
function makeProblem() {
  const entry = document.createElement("li");
  const more = inline("div", "more", "");
  for (const name of ["since", "why", "request"]) more.append(inline("span", name, ""));
  for (const name of ["chapter", "remedy"]) {
    const button = inline("button", name, "");
    button.type = "button";
    more.append(button);
  }
  entry.append(inline("div", "what", ""), more);
  return entry;
}

function showProblem(entry, problem, now) {
  const [what, more] = entry.children;
  const [since, why, request, chapter, remedy] = more.children;
  dress(entry, problem.level);
  what.dataset.word = WORDS[problem.level];
  say(what, problem.text);
  const put = (node, text) => { node.hidden = !text; say(node, text ?? ""); };
  if (now !== null) put(since, begun(problem, now));
  put(why, problem.why && `last error: ${problem.why}`);
  put(request, problem.requestID && `request id ${problem.requestID}`);
  put(chapter, problem.chapter && `Runbook: ${problem.chapter}`);
  chapter.onclick = () => showChapter(problem.chapter);
  put(remedy, problem.remedy?.label);
  if (problem.remedy) offer(remedy, problem.remedy);
}

/** Reads out what is new, and not each change of a number. */
function announce(problems) {
  const signatures = problems.map(signature).join("\n");
  if (signatures === announced) return;
  announced = signatures;
  say(element("announced"), problems.map(({ level, text }) => `${WORDS[level]}: ${text}`).join(". "));
}

/** The last figures stay, and say how old they are. */
function showOutage() {
  element("board").hidden = false;
  element("entrance").hidden = true;
  document.body.classList.add("aged");
  showState("No response", "bad");
  document.body.classList.toggle("blank", answeredAt === null);
  say(element("updated"), answeredAt === null ? "no figures yet" : `figures ${lasting(now() - answeredAt)} old`);
  const text = `The gateway has not responded to this page since ${outage.since.toLocaleTimeString()}: ${outage.reason}.`;
  showProblems([{ level: "bad", text }, ...lastProblems]);
}

/** Asks for the token; with one at hand that one is wrong, or may not enough. */
function enter(message) {
  sessionStorage.removeItem(TOKEN);
  element("board").hidden = true;
  element("controls").hidden = true;
  element("facts").replaceChildren();
  element("entrance").hidden = false;
  document.body.classList.remove("aged");
  showState("Locked", "note");
  say(element("refused"), message);
  element("token").focus();
}

element("entrance").addEventListener("submit", (event) => {
  event.preventDefault();
  const token = element("token").value.trim();
  element("token").value = "";
  // Others could not be sent in a header, and are no token: settings refuse them.
  if (!/^[\x21-\x7e]+$/.test(token)) return say(element("refused"), "The gateway does not take this token.");
  sessionStorage.setItem(TOKEN, token);
  refresh();
});

element("forget").addEventListener("click", () => {
  sessionStorage.removeItem(TOKEN);
  location.reload();
});

document.addEventListener("visibilitychange", () => {
  clearTimeout(timer);
  if (document.visibilityState === "visible" && element("entrance").hidden) refresh();
});

refresh();
