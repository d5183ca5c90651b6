"use strict";

/* Numbers and times in words, and text put into the page: always as text, never as markup. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

function count(number) { return WHOLE.format(number); }

function rate(number) {
  if (number === null) return "–";
  return number === 0 || number >= 100 ? WHOLE.format(number) : number < 0.05 ? "<0.1" : TENTHS.format(number);
}

function percent(part, whole) {
  if (!(whole > 0)) return "–";
  const share = (part / whole) * 100;
  if (share === 0 || share >= 99.95) return `${WHOLE.format(share)} %`;
  return share < 0.1 ? "<0.1 %" : share > 10 ? `${WHOLE.format(share)} %` : `${TENTHS.format(share)} %`;
}

/** Of a quantile in seconds. */
function latency(found) {
  if (!found) return "–";
  const sign = { below: "<", above: ">", exact: "" }[found.kind];
  return sign + brief(found.value);
}

function brief(seconds) {
  const milliseconds = seconds * 1000;
  if (milliseconds >= 1000) return `${Number(seconds.toPrecision(2))} s`;
  return `${milliseconds >= 10 ? WHOLE.format(milliseconds) : Number(milliseconds.toPrecision(2))} ms`;
}

function bytes(number) {
  return number >= 2 ** 30 ? `${TENTHS.format(number / 2 ** 30)} GiB` : `${WHOLE.format(number / 2 ** 20)} MiB`;
}

function lasting(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

function plural(number, one, many = `${one}s`) { return `${count(number)} ${number === 1 ? one : many}`; }

function element(id) { return document.getElementById(id); }

/** Changes only what differs: what is selected stays selected, and nothing is read out twice. */
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function dress(node, name) {
  if (node.className !== name) node.className = name;
}

/** Gives `parent` so many children of a kind. */
function amount(parent, number, tag) {
  while (parent.children.length > number) parent.lastElementChild.remove();
  while (parent.children.length < number) parent.append(document.createElement(tag));
}

/** Fills a table's body. A cell is a text, or {text, note, kind, share}: the note below, a class, and the length of the
    bar beneath as a share of 1. The first cell of a row is its header. Without rows `empty` is said. */
function fill(id, rows, empty) {
  const body = element(id);
  const columns = body.parentElement.tHead?.rows[0].cells.length ?? rows[0]?.length ?? 1;
  amount(body, 0 === rows.length ? 1 : rows.length, "tr");
  // A row that says that there is none has another shape than one with cells.
  if ((body.dataset.empty === "true") !== (rows.length === 0)) {
    for (const row of body.rows) row.replaceChildren();
    body.dataset.empty = String(rows.length === 0);
  }
  if (rows.length === 0) {
    amount(body.rows[0], 1, "td");
    const cell = body.rows[0].cells[0];
    cell.colSpan = columns;
    dress(cell, "empty");
    return say(cell, empty);
  }
  rows.forEach((cells, index) => fillRow(body.rows[index], cells));
}

function fillRow(row, cells) {
  if (row.children.length !== cells.length) {
    row.replaceChildren(...cells.map((_, index) => document.createElement(index === 0 ? "th" : "td")));
    row.firstElementChild.scope = "row";
  }
  cells.forEach((cell, index) => fillCell(row.children[index], typeof cell === "string" ? { text: cell } : cell));
}

function fillCell(node, { text, note = "", kind = "", share = null }) {
  dress(node, share === null ? kind : `${kind} bar`.trim());
  if (share !== null) node.style.setProperty("--share", `${Math.round(share * 100)}%`);
  if (node.dataset.said === `${text}\n${note}`) return;
  node.dataset.said = `${text}\n${note}`;
  node.replaceChildren(text);
  if (!note) return;
  const small = document.createElement("small");
  small.textContent = note;
  node.append(small);
}
