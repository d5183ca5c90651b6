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

class Refused extends Error {}

/** The text of a page of the admin listener. Throws `Refused` where it wants another token. */
async function ask(page) {
  const token = sessionStorage.getItem(TOKEN);
  const response = await fetch(page, {
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (response.status === 401) throw new Refused();
  // Not ready is an answer, too.
  if (!response.ok && page !== "readyz") throw new Error(`it responded with ${response.status}`);
  return response.text();
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
    if (error instanceof Refused) return enter();
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
  element("forget").hidden = sessionStorage.getItem(TOKEN) === null;
  document.body.classList.remove("aged", "blank");
  for (const node of document.querySelectorAll(".window")) say(node, readings.covered(LONG) < 1 ? "so far" : `last ${spoken(readings)}`);
  lastProblems = attention(status, readings, readiness);
  showHeader(status, lastProblems);
  showProblems(lastProblems.length > 0 ? lastProblems : [{ level: "good", text: "Nothing needs attention." }]);
  showFigures(status, readings);
  showUpstreams(status, readings);
  showReplicas(status);
  showIssuers(status);
  showRoutes(readings);
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

function showProblems(problems) {
  const list = element("problems");
  amount(list, problems.length, "li");
  problems.forEach(({ level, text }, index) => {
    const entry = list.children[index];
    dress(entry, level);
    entry.dataset.word = WORDS[level];
    say(entry, text);
  });
  announce(problems);
}

/** Reads out what is new, and not each change of a number. */
function announce(problems) {
  const signature = problems.map(({ level, text }) => level + text.replace(/\d+/g, "")).join("\n");
  if (signature === announced) return;
  announced = signature;
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

/** Asks for the token; with one at hand that one is wrong. */
function enter() {
  const wrong = sessionStorage.getItem(TOKEN) !== null;
  sessionStorage.removeItem(TOKEN);
  element("board").hidden = true;
  element("forget").hidden = true;
  element("entrance").hidden = false;
  document.body.classList.remove("aged");
  showState("Locked", "note");
  say(element("refused"), wrong ? "The gateway does not take this token." : "");
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
