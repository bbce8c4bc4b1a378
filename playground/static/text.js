/** Slack's text objects: plain text, and mrkdwn with its <tokens>, read exactly as Slack reads them. */

import { el } from "./dom.js";
import { channelName, groupName, personName } from "./directory.js";

const EMOJI = {
  arrow_right: "→",
  bell: "🔔",
  bulb: "💡",
  calendar: "📅",
  clock3: "🕒",
  eyes: "👀",
  fast_forward: "⏩",
  gear: "⚙️",
  grey_question: "❔",
  heavy_check_mark: "✔️",
  hourglass: "⌛",
  hourglass_flowing_sand: "⏳",
  information_source: "ℹ️",
  key: "🔑",
  large_blue_circle: "🔵",
  large_green_circle: "🟢",
  large_red_circle: "🔴",
  large_yellow_circle: "🟡",
  link: "🔗",
  lock: "🔒",
  memo: "📝",
  mag: "🔍",
  no_entry: "⛔",
  no_entry_sign: "🚫",
  pencil: "📝",
  pencil2: "✏️",
  question: "❓",
  robot_face: "🤖",
  rotating_light: "🚨",
  shield: "🛡️",
  speech_balloon: "💬",
  stop_sign: "🛑",
  tada: "🎉",
  thumbsup: "👍",
  "+1": "👍",
  thumbsdown: "👎",
  "-1": "👎",
  unlock: "🔓",
  warning: "⚠️",
  wastebasket: "🗑️",
  wave: "👋",
  white_check_mark: "✅",
  wrench: "🔧",
  x: "❌",
  zap: "⚡",
};

const TOKEN = new RegExp(
  [
    "```([\\s\\S]+?)```",
    "`([^`\\n]+)`",
    "<([^<>\\n]+)>",
    "(?<![\\p{L}\\p{N}])([*_~])(?=\\S)([^\\n]*?\\S)\\4(?![\\p{L}\\p{N}])",
    ":([a-z0-9_+-]+):",
    "(https?://[^\\s<>|]+)",
  ].join("|"),
  "gu",
);
const TOKENS_IN_CODE = /<([^<>\n]+)>/gu;
const WEB = /^(https?:\/\/|mailto:)/iu;
const STYLE = { "*": "strong", _: "em", "~": "s" };

/** Show a text object (`plain_text` or `mrkdwn`). */
export function textNodes(text) {
  if (!text) return [];
  return text.type === "mrkdwn" ? mrkdwn(text.text, text.verbatim) : [plain(text)];
}

/** Read a plain_text object; its emoji names are shown as emoji unless it says otherwise. */
export function plain({ text, emoji = true }) {
  return emoji ? text.replace(/:([a-z0-9_+-]+):/g, (name, key) => EMOJI[key] ?? name) : text;
}

export const emojiText = (name) => EMOJI[name] ?? `:${name}:`;

/** Turn mrkdwn into nodes: quotes by line, then fences, code, tokens and styles inside them. */
export function mrkdwn(source, verbatim = false) {
  return (
    source
      .split(/(```[\s\S]+?```|(?:^(?:>|&gt;).*(?:\n|$))+)/mu)
      // A fence stands on lines of its own: the line end after it is part of the fence.
      .map((piece, place, all) => (all[place - 1]?.startsWith("```") ? piece.replace(/^\n/u, "") : piece))
      .filter(Boolean)
      .flatMap((piece) =>
        /^(>|&gt;)/u.test(piece)
          ? el("blockquote", {}, inline(piece.replace(/^(?:>|&gt;) ?/gmu, "").replace(/\n$/u, ""), verbatim))
          : inline(piece, verbatim),
      )
  );
}

function inline(source, verbatim) {
  const nodes = [];
  let end = 0;
  for (const match of source.matchAll(TOKEN)) {
    nodes.push(decode(source.slice(end, match.index)), token(match, verbatim));
    end = match.index + match[0].length;
  }
  nodes.push(decode(source.slice(end)));
  return nodes.filter((node) => node !== "");
}

function token([whole, fence, code, angle, mark, styled, emoji, url], verbatim) {
  if (fence !== undefined) return el("pre", {}, codeNodes(fence.replace(/^\n|\n$/gu, "")));
  if (code !== undefined) return el("code", {}, codeNodes(code));
  if (angle !== undefined) return angled(angle) ?? decode(whole);
  if (mark !== undefined) return el(STYLE[mark], {}, inline(styled, verbatim));
  if (emoji !== undefined) return EMOJI[emoji] ?? whole;
  return verbatim ? decode(url) : link(decode(url), decode(url));
}

/** Slack reads <tokens> inside code as well: text that closes a span or smuggles a link must be seen to do so. */
function codeNodes(source) {
  return source
    .split(TOKENS_IN_CODE)
    .map((piece, place) => (place % 2 ? (angled(piece) ?? `<${decode(piece)}>`) : decode(piece)));
}

function angled(body) {
  const [target, label] = splitOnce(body, "|");
  if (target.startsWith("@")) return mention("user", target.slice(1));
  if (target.startsWith("#")) return mention("channel", target.slice(1));
  if (target.startsWith("!subteam^")) return mention("usergroup", target.slice("!subteam^".length));
  if (target.startsWith("!date^")) return dateToken(target, label);
  if (/^!(here|channel|everyone)$/u.test(target)) return mention("broadcast", target.slice(1));
  if (target.startsWith("!")) return decode(label ?? target);
  return WEB.test(target) ? link(decode(target), decode(label ?? target)) : undefined;
}

/** Entities are decoded once, and what comes out is not read again. */
const decode = (text) => text.replace(/&(amp|lt|gt);/gu, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name]);

function splitOnce(text, separator) {
  const place = text.indexOf(separator);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

/** Link to a web or mail address; any other scheme stays text. */
export function link(url, label) {
  if (!WEB.test(url)) return label;
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: url }, label);
}

/** Show a mention of a user, usergroup, channel, or broadcast. */
export function mention(kind, id) {
  const names = {
    user: () => `@${personName(id)}`,
    usergroup: () => `@${groupName(id)}`,
    channel: () => `#${channelName(id)}`,
  };
  return el("span", { class: "mention", "data-mention": id }, names[kind]?.() ?? `@${id}`);
}

function dateToken(target, fallback) {
  const [, seconds, format, url] = target.split("^");
  const date = dateNode(Number(seconds), format, decode(fallback ?? ""));
  return url ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, date) : date;
}

/** Show a moment in the reader's own zone, in Slack's {date} placeholders. */
export function dateNode(seconds, format, fallback) {
  const moment = new Date(seconds * 1000);
  if (!format || Number.isNaN(moment.getTime())) return fallback ?? "";
  const shown = format.replace(/\{(\w+)\}/gu, (whole, name) => DATES[name]?.(moment) ?? whole);
  return el("time", { datetime: moment.toISOString(), title: fullTime(moment) }, decode(shown));
}

const formatted = (options, locale) => {
  const formatter = new Intl.DateTimeFormat(locale, options);
  return (moment) => formatter.format(moment);
};
const pretty = (otherwise) => (moment) => relativeDay(moment) ?? otherwise(moment);
const longDate = formatted({ weekday: "long", year: "numeric", month: "long", day: "numeric" });
const date = formatted({ year: "numeric", month: "long", day: "numeric" });
const shortDate = formatted({ year: "numeric", month: "short", day: "numeric" });

/** The hour and minute of a moment. */
export const clock = formatted({ hour: "numeric", minute: "2-digit" });
export const clockWithSeconds = formatted({ hour: "numeric", minute: "2-digit", second: "2-digit" });
export const fullTime = formatted({ dateStyle: "full", timeStyle: "medium" });
/** The day of a moment, as people say it. */
export const day = (moment) => relativeDay(moment, true) ?? longDate(moment);

const DATES = {
  date_num: formatted({ year: "numeric", month: "2-digit", day: "2-digit" }, "en-CA"),
  date_slash: formatted({ year: "numeric", month: "2-digit", day: "2-digit" }),
  date,
  date_short: shortDate,
  date_long: longDate,
  date_pretty: pretty(date),
  date_short_pretty: pretty(shortDate),
  date_long_pretty: pretty(longDate),
  time: clock,
  time_secs: clockWithSeconds,
  ago,
};

function relativeDay(moment, capital = false) {
  const midnight = (when) => new Date(when.getFullYear(), when.getMonth(), when.getDate()).getTime();
  const days = Math.round((midnight(moment) - midnight(new Date())) / 86_400_000);
  const word = { "-1": "yesterday", 0: "today", 1: "tomorrow" }[days];
  return word && capital ? word[0].toUpperCase() + word.slice(1) : word;
}

function ago(moment) {
  const seconds = Math.round((moment.getTime() - Date.now()) / 1000);
  const [unit, size] = [
    ["day", 86_400],
    ["hour", 3_600],
    ["minute", 60],
    ["second", 1],
  ].find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(Math.round(seconds / size), unit);
}
