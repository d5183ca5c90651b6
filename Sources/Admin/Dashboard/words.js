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

/** A time of day, with its date where that is not today's. */
function moment(seconds) {
  const date = new Date(seconds * 1000);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
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

/** Gives `parent` one child for each key, in this order. A child keeps its key, and with it what is focused in it. */
function keyed(parent, keys, make) {
  const known = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  const wanted = new Set(keys);
  for (const [key, node] of known) if (!wanted.has(key)) node.remove();
  return keys.map((key, index) => {
    const node = known.get(key) ?? make();
    node.dataset.key = key;
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
    return node;
  });
}

/** Fills a table's body. A cell is a text, or {text, note, kind, share, tag, title, span}: the note after it, a class, the
    length of the bar beneath as a share of 1, a word before it, what is shown when it is pointed at, else the whole of a long text, and the columns that it takes. The first cell of a row is its header. Without rows `empty` is said. */
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

/** Fills a row's first cells; `columns` is how many it has. */
function fillRow(row, cells, columns = cells.length) {
  if (row.children.length !== columns) {
    row.replaceChildren(...Array.from({ length: columns }, (_, index) => document.createElement(index === 0 ? "th" : "td")));
    row.firstElementChild.scope = "row";
  }
  cells.forEach((cell, index) => fillCell(row.children[index], typeof cell === "string" ? { text: cell } : cell));
}

function fillCell(node, { text, note = "", kind = "", share = null, tag = "", title = "", span = 1 }) {
  if (node.colSpan !== span) node.colSpan = span;
  dress(node, share === null ? kind : `${kind} bar`.trim());
  if (share !== null) node.style.setProperty("--share", `${Math.round(share * 100)}%`);
  const whole = title || (text.length + note.length > 24 ? `${text} ${note}`.trim() : "");
  if (node.title !== whole) node.title = whole;
  const said = [tag, text, note].join("\n");
  if (node.dataset.said === said) return;
  node.dataset.said = said;
  node.replaceChildren();
  if (tag) node.append(inline("span", "tag", tag), " ");
  node.append(text);
  if (note) node.append(inline("small", "", note));
}

function inline(kind, name, text) {
  const node = document.createElement(kind);
  if (name) node.className = name;
  node.textContent = text;
  return node;
}
