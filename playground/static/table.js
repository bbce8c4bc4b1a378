/** Slack's table: the first row has the names of the columns. */

import { el } from "./dom.js";
import { richText } from "./rich_text.js";

/** Draw a table. What is wider than the window is reached by scrolling, also with the keyboard. */
export function table({ rows: [names, ...rows], column_settings: settings = [] }) {
  const row = (cells, name) => el("tr", {}, cells.map((cell, place) => drawn(cell, name, settings[place])));
  return el(
    "div",
    { class: "table", role: "region", "aria-label": "Table", tabindex: "0" },
    el(
      "table",
      {},
      el("thead", {}, row(names, "th")),
      el("tbody", {}, rows.map((cells) => row(cells, "td"))),
    ),
  );
}

const drawn = (cell, name, { align = "left", is_wrapped: wraps = false } = {}) =>
  el(
    name,
    { class: `${align} ${wraps ? "wraps" : ""}`, scope: name === "th" && "col" },
    cell.type === "rich_text" ? richText(cell) : cell.text,
  );
