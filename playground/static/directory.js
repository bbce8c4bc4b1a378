/** Who and what the ids in messages stand for. */

import { el, icon } from "./dom.js";

/** The app's own user: it writes the cards, and nobody can act as it. */
export const APP = "U0BOT";

let workspace = { team: {}, people: [], groups: [], channels: [], faults: [], sockets: 0 };

export function setWorkspace(state) {
  workspace = state;
}

export const getWorkspace = () => workspace;

const byId = (list, id) => list.find((thing) => thing.id === id);

export const person = (id) => byId(workspace.people, id);
export const personName = (id) => person(id)?.name ?? id;
export const groupName = (id) => byId(workspace.groups, id)?.handle ?? id;
export const channel = (id) => byId(workspace.channels, id);

/** Name a channel as its list shows it: a direct message by the app that it is with. */
export function channelName(id) {
  const found = channel(id);
  return found?.is_im ? personName(APP) : (found?.name ?? id);
}

/** Whether messages of this user carry the mark of an app. */
export const isApp = (id) => id === APP || Boolean(person(id)?.is_bot);

/** What sets a person apart from a full member, in a word each. */
export function flags(someone) {
  return [
    someone.deleted && "deactivated",
    someone.is_ultra_restricted ? "single-channel guest" : someone.is_restricted && "guest",
    someone.is_stranger && "external",
    someone.is_bot && "bot",
  ].filter(Boolean);
}

export const groupsOf = (id) => workspace.groups.filter((group) => (group.users ?? []).includes(id));

/** Draw a person's initial on a colour of their own, and the app's shield. */
export function avatar(id) {
  if (id === APP) return el("span", { class: "avatar app", "aria-hidden": "true" }, icon("shield"));
  const node = el(
    "span",
    { class: "avatar", "aria-hidden": "true" },
    personName(id).slice(0, 1).toUpperCase(),
  );
  // The golden angle keeps neighbours in the list apart.
  const place = workspace.people.findIndex((each) => each.id === id) + 1;
  node.style.setProperty("--hue", Math.round(place * 137.5) % 360);
  return node;
}
