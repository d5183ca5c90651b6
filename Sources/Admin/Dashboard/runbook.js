"use strict";

/* The runbook of this version, a chapter at a time. It is in the page: in an outage nothing has to be fetched. */

/** The text of a chapter by its title; null where there is none. */
function chapterText(title) {
  const text = `\n${element("runbook").textContent}`;
  const begin = text.indexOf(`\n## ${title}\n`);
  if (begin < 0) return null;
  const body = text.slice(begin + title.length + 5);
  const end = body.search(/\n##? /);
  return (end < 0 ? body : body.slice(0, end)).trim();
}

function showChapter(title) {
  say(element("chapter-title"), title);
  element("chapter-text").replaceChildren(...blocks(chapterText(title) ?? ""));
  say(element("chapter-source"), `From the runbook of version ${element("version").textContent}.`);
  element("chapter").showModal();
}

/** The paragraphs, steps, tables and commands of the documentation's Markdown. */
function blocks(text) {
  const found = [];
  const begins = (line) => /^(\d+\.|-) /.test(line) || line.startsWith("|") || line.startsWith("```");
  const lines = text.split("\n").map((line) => line.trim());
  while (lines.length > 0) {
    if (lines[0] === "") { lines.shift(); continue; }
    const [first] = lines;
    const until = (ends) => { const at = lines.findIndex((line, index) => index > 0 && ends(line)); return lines.splice(0, at < 0 ? lines.length : at); };
    if (first.startsWith("```")) {
      found.push(inline("pre", "", until((line) => line === "```").slice(1).join("\n")));
      lines.shift();
    } else if (first.startsWith("|")) {
      found.push(table(until((line) => !line.startsWith("|"))));
    } else {
      const paragraph = inline("p", /^(\d+\.|-) /.test(first) ? "step" : "", "");
      paragraph.append(...spans(until((line) => line === "" || begins(line)).join(" ")));
      found.push(paragraph);
    }
  }
  return found;
}

function table(lines) {
  const whole = document.createElement("table");
  for (const line of lines.filter((each) => !/^[|\s-]+$/.test(each))) {
    const row = whole.insertRow();
    for (const cell of line.split("|").slice(1, -1)) row.insertCell().append(...spans(cell.trim()));
  }
  return whole;
}

/** Code and bold text; of links their text. */
function spans(text) {
  return text.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").split(/(`[^`]*`|\*\*[^*]*\*\*)/).filter(Boolean).map((part) => {
    if (part.startsWith("`")) return inline("code", "", part.slice(1, -1));
    return part.startsWith("**") ? inline("b", "", part.slice(2, -2)) : part;
  });
}

element("chapter-close").onclick = () => element("chapter").close();
