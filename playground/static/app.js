/** The page: who acts and where, and keeping what it shows true to the stand-in's state. */

import { api, follow } from "./api.js";
import { createComposer } from "./composer.js";
import { APP, channel, flags, getWorkspace, personName, setWorkspace } from "./directory.js";
import { copied, focusKey, restoreFocus } from "./dom.js";
import { createHome } from "./home.js";
import { createInspector } from "./inspector.js";
import {
  HOME,
  people,
  placeName,
  places,
  showConnection,
  showPeople,
  showPlaces,
  showSockets,
  sigil,
} from "./sidebar.js";
import { createTimeline, isOpen } from "./timeline.js";
import { createModal } from "./views.js";

const $ = (selector) => document.querySelector(selector);
const address = new URLSearchParams(location.search);

let me = address.get("as") ?? "U0DANA";
let here = address.get("channel") ?? "C0APPROVALS";
/** All messages that `me` can see; undefined until they were read. */
let messages;
/** Channel -> the timestamp of the last message that was looked at. */
let lastRead;
let opener;
/** The open cards of this channel. */
let waiting = [];
/** Whether a card here was seen to be decided. */
let isUnderWay = false;

const reader = () => me;
const inspector = createInspector({ personName });
const home = createHome({ reader, onAnswer });
const composer = createComposer({
  where: () => ({ user: me, channel: here }),
  onSent: () => refresh("message", "delivery"),
  onTrouble: complain,
});
const timeline = createTimeline({
  reader,
  onAnswer,
  onReply: composer.replyTo,
  onInspect: inspector.inspect,
});
const modal = createModal({
  reader,
  onAnswer,
  onOpening: () => {
    opener = focusKey();
  },
  onClosed: () => opener && restoreFocus(opener),
});

function onAnswer({ views } = {}) {
  if (views) modal.show(views);
  refresh("message", "view", "delivery");
}

/** What the stream names, and how it is read anew. People and channels first: messages are drawn with their names. */
const READ = {
  state: async () => showWorkspace(await api.state()),
  message: () => readFor(api.messages, showMessages),
  view: () => readFor(api.views, showViews),
  delivery: async () => inspector.showDeliveries(await api.deliveries()),
};
READ.deleted = READ.message;

/** Read what one person sees, and drop the answer if the page acts as another by then. */
async function readFor(read, show) {
  const asked = me;
  const answer = await read(asked);
  if (asked === me) show(answer);
}

const owed = new Set();
let isReading = false;

/** Read again what changed; changes that come meanwhile are read in one more round. */
async function refresh(...kinds) {
  for (const kind of kinds) {
    if (kind in READ) owed.add(READ[kind]);
    else Object.values(READ).forEach((read) => owed.add(read));
  }
  if (isReading) return;
  isReading = true;
  while (owed.size) {
    const round = Object.values(READ).filter((read) => owed.delete(read));
    for (const read of round) await read().catch((error) => complain(error.message));
  }
  isReading = false;
}

function showWorkspace(state) {
  setWorkspace(state);
  if (!people().some((each) => each.id === me)) me = people()[0].id;
  if (!places(me).some((place) => place.id === here)) here = places(me)[1].id;
  $("#team").textContent = state.team.name;
  showPeople(me);
  showSockets(state);
  showFaults(state.faults);
  showLines(state.lines);
  if (messages) showMessages(messages);
}

function showViews({ views, home: published }) {
  modal.show(views);
  home.show(published);
}

function showFaults(faults) {
  const words = ({ method, kind, error, status }) =>
    `${method}: ${[kind, error, status].filter(Boolean).join(" ")}`;
  $("#faults").hidden = faults.length === 0;
  $("#faults-text").textContent = `Faults switched on: ${faults.map(words).join(", ")}.`;
}

function showMessages(all) {
  messages = all;
  // What was there before the page is not news.
  lastRead ??= new Map(all.map((message) => [message.channel, message.ts]));
  const shown = all.filter((message) => message.channel === here);
  if (shown.length) lastRead.set(here, shown.at(-1).ts);
  showPlace(here === HOME.id ? HOME : channel(here), shown);
  timeline.show(`${here} ${me}`, shown, namesOnShow());
  inspector.refresh(all);
  showPlaces({ reader: me, here, unread, open: (id) => go({ channel: id }) });
}

function showPlace(place, shown) {
  const name = placeName(place);
  const isHome = place === HOME;
  $("#channel-title").replaceChildren(sigil(place), name);
  $("#channel-meta").textContent = isHome ? `What the app shows to ${personName(me)} alone` : about(place);
  $("[data-testid=home]").hidden = !isHome;
  $("#empty").hidden = isHome || shown.length > 0;
  showGuide();
  composer.show(isHome ? "" : place.is_im ? name : `#${name}`, me);
  document.title = `${name} · Assent playground`;
}

/** A program to paste stands where no card is yet. Where there is one, nobody is told how to get it. */
function showLines(lines) {
  $("#lines").hidden = $("#next-agent").hidden = !lines;
  $("#next-lines").hidden = Boolean(lines);
  if (lines && !$("#lines pre")) $("#lines").append(copied("Lines to paste into another terminal, in the folder of the checkout", lines));
}

/** The guide closes with the first decision. Once every card is decided, it says what to do next. */
function showGuide() {
  const cards = messages.filter((each) => each.user === APP && each.blocks?.length && !each.ephemeral_for && !isPart(each));
  const open = cards.filter(isOpen);
  waiting = open.filter((each) => each.channel === here);
  $("#waiting-count").textContent = `${waiting.length} cards wait here.`;
  $("#waiting").hidden = waiting.length < 2;
  const isOver = cards.length > 0 && !open.length;
  if (open.length < cards.length && !isUnderWay) [isUnderWay, $("#guide").open] = [true, false];
  const begin = (waiting.length && !isUnderWay && getWorkspace().hint) || "How to decide";
  $("#guide > summary").textContent = isOver ? "What next" : begin;
  $("#next").hidden = !isOver;
}

/** What stands in the thread of a card. A card may itself stand in somebody's thread. */
const isPart = ({ thread_ts: parent }) => messages.some((each) => each.ts === parent && each.user === APP);

function about(place) {
  const members = place.members.filter((id) => id !== APP);
  return [
    place.is_im ? "direct messages" : `${members.length} ${members.length === 1 ? "person" : "people"}`,
    place.is_private && "private",
    place.is_archived && "archived",
    place.is_ext_shared && "shared with another workspace",
    !members.includes(me) && `${personName(me)} is not a member`,
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Names are part of what a message shows: when they change, it is drawn anew. */
function namesOnShow() {
  const { people: everybody, groups } = getWorkspace();
  return [everybody.map((each) => [each.name, flags(each)]), groups.map((group) => group.handle)].join();
}

function unread(id) {
  return messages.filter((message) => message.channel === id && message.ts > (lastRead.get(id) ?? "")).length;
}

function go({ as = me, channel: next = here }) {
  composer.replyTo(undefined);
  complain("");
  // What one person alone can see is not shown to the next.
  if (as !== me) messages = undefined;
  [me, here] = [as, next];
  history.replaceState(null, "", `?${new URLSearchParams({ as: me, channel: here })}`);
  showWorkspace(getWorkspace());
  refresh("message", "view");
  if (here === HOME.id) openHome();
}

/** Slack tells the app that its Home tab is looked at, and the app publishes it then. */
function openHome() {
  const moment = String(Date.now() / 1000);
  const event = {
    type: "app_home_opened",
    user: me,
    channel: `D${me.slice(1)}`,
    tab: "home",
    event_ts: moment,
  };
  api.event(event).catch((error) => complain(error.message));
}

function complain(text) {
  $("#complaint").textContent = text;
}

$("#guide").open = !matchMedia("(max-width: 45rem)").matches;
$("[data-testid=act-as]").addEventListener("change", ({ target }) => go({ as: target.value }));
$("#faults-clear").addEventListener("click", () => {
  // The button goes with the faults.
  $("#inspector-toggle").focus();
  api.clearFaults().catch((error) => complain(error.message));
});
$("#waiting-newest").addEventListener("click", () => timeline.goTo(waiting.at(-1)));
$("#connect-settings").textContent = [
  `SLACK_API_URL=${location.origin}/api/`,
  "SLACK_BOT_TOKEN=xoxb-playground",
  "SLACK_APP_TOKEN=xapp-playground",
].join("\n");

if (here === HOME.id) openHome();

follow({
  onChange: (kind) => refresh(kind),
  onConnection: (isLive) => {
    showConnection(isLive);
    if (isLive) complain("");
  },
});
