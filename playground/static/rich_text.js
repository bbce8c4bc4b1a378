/** rich_text blocks. Their text leaves are literal: no mrkdwn, no entities, no mentions by name. */

import { el } from "./dom.js";
import { dateNode, emojiText, link, mention } from "./text.js";

/** Draw a rich_text block: sections, lists, quotes and preformatted text. */
export function richText(block) {
  return el("div", { class: "rich-text" }, (block.elements ?? []).map(part));
}

function part(element) {
  const draw = PARTS[element.type];
  return draw ? draw(element) : el("p", { class: "unsupported" }, `[${element.type}]`);
}

const PARTS = {
  rich_text_section: (element) => el("p", {}, leaves(element)),
  rich_text_quote: (element) => el("blockquote", {}, leaves(element)),
  rich_text_preformatted: (element) => el("pre", {}, leaves(element)),
  rich_text_list: (element) => {
    const list = el(
      element.style === "ordered" ? "ol" : "ul",
      { start: element.offset && element.offset + 1 },
      (element.elements ?? []).map((item) =>
        el("li", {}, item.type === "rich_text_section" ? leaves(item) : part(item)),
      ),
    );
    list.style.marginLeft = `${(element.indent ?? 0) * 1.5}rem`;
    return list;
  },
};

const leaves = (element) =>
  (element.elements ?? []).map((leaf) => styled(LEAVES[leaf.type]?.(leaf) ?? `[${leaf.type}]`, leaf.style));

const LEAVES = {
  text: (leaf) => leaf.text,
  link: (leaf) => link(leaf.url, leaf.text ?? leaf.url),
  user: (leaf) => mention("user", leaf.user_id),
  usergroup: (leaf) => mention("usergroup", leaf.usergroup_id),
  channel: (leaf) => mention("channel", leaf.channel_id),
  broadcast: (leaf) => mention("broadcast", leaf.range),
  emoji: (leaf) =>
    leaf.unicode
      ? String.fromCodePoint(...leaf.unicode.split("-").map((hex) => parseInt(hex, 16)))
      : emojiText(leaf.name),
  date: (leaf) => {
    const date = dateNode(leaf.timestamp, leaf.format, leaf.fallback);
    return leaf.url ? link(leaf.url, date) : date;
  },
  color: (leaf) => el("code", {}, leaf.value),
};

function styled(node, { bold, italic, strike, code, underline } = {}) {
  const wrappers = [strike && "s", code && "code", underline && "u", italic && "em", bold && "strong"].filter(
    Boolean,
  );
  return wrappers.reduce((inner, name) => el(name, {}, inner), node);
}
