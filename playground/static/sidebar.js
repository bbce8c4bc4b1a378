/** Who acts, where they look, and whether the bot is there. */

import { APP, avatar, channelName, flags, getWorkspace, groupsOf, person } from "./directory.js";
import { el, icon, reconcile } from "./dom.js";

/** The app's Home tab, which stands among the channels. */
export const HOME = { id: "home", name: "Home" };

const $ = (selector) => document.querySelector(selector);

export const people = () => getWorkspace().people.filter((each) => each.id !== APP);

/** Home, the channels, and the reader's own direct messages. */
export const places = (reader) => [
  HOME,
  ...getWorkspace().channels.filter((each) => !each.is_im || each.user === reader),
];

export const placeName = (place) => (place === HOME ? place.name : channelName(place.id));

export function sigil(place) {
  const sign = place === HOME ? icon("house") : place.is_im ? "@" : place.is_private ? icon("lock") : "#";
  return el("span", { class: "sigil", "aria-hidden": "true" }, sign);
}

/** Show who may be acted as, and who is. */
export function showPeople(reader) {
  const choice = $("[data-testid=act-as]");
  const options = people().map((each) => {
    const words = [each.name, ...flags(each)].join(" · ");
    return { key: each.id, signature: words, build: () => el("option", { value: each.id }, words) };
  });
  reconcile(choice, options);
  choice.value = reader;
  $("#acting-avatar").replaceChildren(avatar(reader));
  const marks = [...flags(person(reader) ?? {}), ...groupsOf(reader).map((group) => `@${group.handle}`)];
  const tags = marks.length ? marks : ["full member"];
  $("#acting-flags").replaceChildren(...tags.map((mark) => el("span", { class: "tag" }, mark)));
}

/** Show where one can look; `unread` counts what is new in a channel, `open` goes there. */
export function showPlaces({ reader, here, unread, open }) {
  const rows = places(reader).map((place) => {
    const isCurrent = place.id === here;
    const news = isCurrent ? 0 : unread(place.id);
    const build = () => el("li", {}, placeButton(place, isCurrent, news, open));
    return { key: place.id, signature: JSON.stringify([place, isCurrent, news]), build };
  });
  reconcile($("#channels"), rows);
}

function placeButton(place, isCurrent, news, open) {
  const attributes = {
    type: "button",
    class: "channel",
    "data-channel": place.id,
    "aria-current": isCurrent ? "page" : undefined,
    onclick: () => open(place.id),
  };
  return el(
    "button",
    attributes,
    sigil(place),
    el("span", { class: "channel-name" }, placeName(place)),
    place.is_archived && el("span", { class: "tag" }, "archived"),
    place.is_ext_shared && el("span", { class: "tag" }, "shared"),
    news > 0 && el("span", { class: "unread", "aria-label": `${news} new` }, String(news)),
  );
}

/** Show whether a bot is connected; when none is, the empty channel says how. */
export function showSockets({ sockets }) {
  const counted = `Bot connected · ${sockets} ${sockets === 1 ? "socket" : "sockets"}`;
  $("#sockets").textContent = sockets ? counted : "No bot connected";
  $("#sockets").classList.toggle("on", sockets > 0);
  $("#connect").hidden = sockets > 0;
}

/** Show whether the page hears of changes. */
export function showConnection(isLive) {
  $("#connection").textContent = isLive ? "Live" : "Reconnecting…";
  $("#connection").classList.toggle("on", isLive);
}
