/** A channel's messages: cards, and replies under their parents. */

import { api } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { announce, el, find, focusKey, icon, reconcile } from "./dom.js";
import { avatar, flags, isApp, person, personName } from "./directory.js";
import { createPresses } from "./presses.js";
import { clock, day, fullTime, mrkdwn, plain } from "./text.js";

const NEAR_END = 120;
/** For so many milliseconds after a press, another may follow at the same place. */
const HOLD = 1000;

/** Message timestamps are seconds since 1970, as text. */
const momentOf = (ts) => new Date(Number(ts) * 1000);

/**
 * Make the timeline.
 *
 * Args:
 *   reader: who the page acts as.
 *   onAnswer: called with the answer to every press.
 *   onReply: called with a message that the person wants to answer in its thread.
 *   onInspect: called with a message whose JSON is wanted.
 */
export function createTimeline({ reader, onAnswer, onReply, onInspect }) {
  const list = document.querySelector("[data-testid=timeline]");
  const scroller = list.closest(".scroller");
  const newer = document.querySelector("#newer");
  const folded = new Set();
  const presses = createPresses({ onChange: () => draw(), onAnswer });
  let place;
  let context;
  let messages = [];
  let known = new Set();
  let unseen;
  let settled = false;
  /** The button that a pointer was on last. */
  let held = { at: -Infinity };

  /** Show a place's messages. `place` changes when another reader or channel is shown, `context` when names do. */
  function show(nextPlace, nextMessages, nextContext) {
    const wasHere = nextPlace === place;
    const atEnd = distanceToEnd() < NEAR_END;
    const before = known;
    [place, messages, context] = [nextPlace, nextMessages, nextContext];
    known = new Set(messages.map(keyOf));
    settled = wasHere;
    draw();
    settled = true;
    const fresh = wasHere ? messages.filter((message) => !before.has(keyOf(message))) : [];
    if (fresh.length) announce(...fresh.map((each) => `New message from ${personName(each.user)}: ${spoken(each)}`));
    if (!wasHere) scrollToStartOf(messages.find(isOpen));
    else if (fresh.length) reveal(fresh, atEnd);
  }

  /** Show what is new: at once where the person wrote it, is answered by it, or reads the end; else, and at a button, on request. */
  function reveal(fresh, atEnd) {
    const mine = fresh.find((message) => message.ephemeral_for || message.user === reader());
    if (isHeld()) unseen ??= isAllShown() ? undefined : fresh[0];
    else if (mine) row(mine)?.scrollIntoView({ block: "nearest" });
    else if (!atEnd) unseen ??= fresh[0];
    else if (fresh.some(isAtEnd)) scrollToStartOf(fresh.find(isAtEnd));
    if (distanceToEnd() >= NEAR_END && fresh.length > 1) unseen ??= fresh.at(-1);
    newer.hidden = !unseen;
  }

  const hold = (button) => button && (held = { at: performance.now(), ...focusKey(button) });

  /** Whether a pointer is on a button, or was just now: no other button may come to stand there. */
  function isHeld() {
    hold(list.querySelector("button:hover"));
    return performance.now() - held.at < HOLD;
  }

  /** Draw. The button at a pointer stays in place, or the end of its row once it is gone; else the end, where it is in view. */
  function draw() {
    const end = distanceToEnd() < NEAR_END ? list : undefined;
    const kept = isHeld() ? () => find(held) : () => ({ row: end });
    const before = spots(kept());
    reconcile(list, rows());
    scroller.scrollTop += spots(kept()).map((at, index) => at - before[index]).find(Number.isFinite) ?? 0;
  }

  const spots = ({ row: around, same }) => [same?.getBoundingClientRect().top, around?.getBoundingClientRect().bottom];

  const isReply = ({ ts, thread_ts: parent }) =>
    parent && parent !== ts && messages.some((message) => message.ts === parent);

  function rows() {
    const parents = new Map(messages.map((message) => [message.ts, []]));
    for (const message of messages) if (isReply(message)) parents.get(message.thread_ts).push(message);
    const found = [];
    let lastDay = "";
    for (const message of messages.filter((each) => !isReply(each))) {
      const today = day(momentOf(message.ts));
      if (today !== lastDay) found.push(dayRow(today));
      lastDay = today;
      found.push(messageRow(message));
      const replies = parents.get(message.ts);
      if (replies.length) found.push(threadRow(message, replies.length));
      if (!folded.has(message.ts)) found.push(...replies.map((reply) => messageRow(reply, true)));
    }
    return found;
  }

  const dayRow = (name) => ({
    key: `day-${name}`,
    signature: name,
    build: () => el("li", { class: "day" }, el("span", {}, name)),
  });

  function threadRow(parent, count) {
    const open = !folded.has(parent.ts);
    const toggle = () => {
      folded.has(parent.ts) ? folded.delete(parent.ts) : folded.add(parent.ts);
      draw();
      list.querySelector(`[data-thread="${parent.ts}"]`)?.focus();
    };
    const label = `${count} ${count === 1 ? "reply" : "replies"}`;
    const button = () =>
      el(
        "button",
        {
          type: "button",
          class: "thread-toggle",
          "data-thread": parent.ts,
          "aria-expanded": String(open),
          onclick: toggle,
        },
        icon("down"),
        label,
      );
    return {
      key: `thread-${parent.ts}`,
      signature: label + open,
      build: () => el("li", { class: "thread" }, button()),
    };
  }

  function messageRow(message, reply = false) {
    const content = JSON.stringify(message);
    return {
      key: keyOf(message),
      signature: JSON.stringify([content, presses.last(ownerOf(message), message.blocks), context, reply]),
      build: (old) => {
        const news = old ? old.content !== content && "is-changed" : settled && "is-new";
        if (news === "is-changed" && old.contains(document.activeElement))
          announce(`This message has changed: ${spoken(message)}`);
        return Object.assign(
          el("li", { class: `row ${reply ? "is-reply" : ""} ${news || ""}` }, article(message)),
          { content },
        );
      },
    };
  }

  function article(message) {
    const moment = momentOf(message.ts);
    const name = personName(message.user);
    const content = message.blocks?.length
      ? renderBlocks(message.blocks, surfaceOf(message))
      : el("div", { class: "text" }, mrkdwn(message.text ?? ""));
    return el(
      "article",
      {
        class: `message ${message.ephemeral_for ? "is-ephemeral" : ""}`,
        "data-ts": message.ts,
        "data-user": message.user,
        "data-ephemeral": message.ephemeral_for,
        "aria-label": [`${name}, ${clock(moment)}`, titleOf(message)].filter(Boolean).join(": "),
        tabindex: "-1",
      },
      avatar(message.user),
      el(
        "div",
        { class: "message-body" },
        message.ephemeral_for && el("p", { class: "only-you" }, icon("eye"), "Only visible to you"),
        el(
          "header",
          {},
          el("strong", {}, name),
          isApp(message.user)
            ? el("span", { class: "tag" }, "App")
            : flags(person(message.user) ?? {}).map((flag) => el("span", { class: "tag" }, flag)),
          el("time", { datetime: moment.toISOString(), title: fullTime(moment) }, clock(moment)),
          message.edited && el("span", { class: "edited" }, "(edited)"),
          el(
            "span",
            { class: "tools" },
            !message.ephemeral_for && tool("reply", "Reply", message, onReply),
            tool("json", "JSON", message, onInspect),
          ),
        ),
        el(
          "div",
          { class: "content" },
          content,
        ),
      ),
    );
  }

  const tool = (hook, label, message, act) =>
    el(
      "button",
      {
        type: "button",
        class: "tool",
        "data-hook": hook,
        "aria-label": `${label}: message of ${clock(momentOf(message.ts))}`,
        onclick: () => act(message),
      },
      icon(hook === "json" ? "braces" : "reply"),
      label,
    );

  const ownerOf = (message) => `${reader()} ${keyOf(message)}`;

  function surfaceOf(message) {
    const { channel, ts, blocks } = message;
    return presses.surface(ownerOf(message), blocks, (press) =>
      api.click({ user: reader(), channel, ts, ...press }),
    );
  }

  const row = (message) => list.querySelector(`[data-key="${CSS.escape(keyOf(message))}"]`);
  const distanceToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  /** The browser rounds two of the three. */
  const isAllShown = () => distanceToEnd() < 2;

  /** A reply to an older card stands above what somebody reads at the end. */
  const isAtEnd = (message) => !isReply(message) || message.thread_ts === messages.findLast((each) => !isReply(each))?.ts;

  function scrollToEnd() {
    scroller.scrollTop = messages.length && scroller.scrollHeight;
    [unseen, newer.hidden] = [undefined, true];
  }

  /** Scroll towards the end, but not past the first line of this message. */
  function scrollToStartOf(message) {
    scrollToEnd();
    const top = message && row(message)?.getBoundingClientRect().top;
    const above = scroller.getBoundingClientRect().top - (top ?? Infinity);
    if (above > 0) scroller.scrollTop -= above;
  }

  /** Scroll to a message, and have the keyboard go on from there. */
  function goTo(message) {
    scrollToStartOf(message);
    (row(message)?.querySelector("article") ?? list).focus({ preventScroll: true });
  }

  list.addEventListener("pointerdown", ({ target }) => hold(target.closest("button")));
  newer.addEventListener("click", () => goTo(unseen));
  scroller.addEventListener("scroll", () => {
    if (isAllShown()) [unseen, newer.hidden] = [undefined, true];
  });

  return { show, goTo };
}

/** Whether a message waits for somebody: it has a button to press first, or one that answers. */
export const isOpen = (message) =>
  message.blocks?.some(({ elements }) => elements?.some?.(isWaiting)) ?? false;

const isWaiting = ({ style, action_id: id }) => style === "primary" || /^(reject|respond):/u.test(id);

/** What a screen reader says of a message that is not looked at: its text, as Slack's own does. */
const spoken = (message) => el("p", {}, mrkdwn(message.text ?? "")).textContent;

function titleOf(message) {
  const header = message.blocks?.find(({ type }) => type === "header");
  return header && plain(header.text);
}

const keyOf = (message) => `${message.channel}/${message.ts}/${message.ephemeral_for ?? ""}`;
