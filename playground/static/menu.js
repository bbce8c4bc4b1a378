/** Slack's overflow menu: a button that opens a list of choices, by mouse and by keyboard. */

import { el, icon } from "./dom.js";
import { plain } from "./text.js";

const STEPS = { ArrowDown: 1, ArrowUp: -1 };

/** Draw the menu. Choosing presses the element with the value of the option; moving through the list does not. */
export function overflow(block, element, surface) {
  const waiting = surface.waiting(element.action_id);
  const label = ["More actions", aboutAll(element.options)].filter(Boolean).join(": ");
  const opener = el(
    "button",
    {
      type: "button",
      class: `button menu-opener ${waiting === "pressed" ? "busy" : ""}`,
      "data-action-id": element.action_id,
      "aria-label": label,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
      "aria-disabled": waiting ? "true" : undefined,
      "aria-busy": waiting === "pressed" ? "true" : undefined,
      onclick: () => !waiting && (list.hidden ? open(0) : close()),
      onkeydown: (event) => {
        if (waiting || !(event.key in STEPS)) return;
        event.preventDefault();
        open(event.key === "ArrowUp" ? -1 : 0);
      },
    },
    icon("more"),
  );
  const items = element.options.map((option) => item(option, () => choose(option)));
  const list = el(
    "div",
    { class: "menu-list", role: "menu", "aria-label": label, hidden: true, onkeydown: move },
    items,
  );
  const whole = el("div", { class: "menu", onfocusout: leave }, opener, list);

  function open(place) {
    list.hidden = false;
    // Towards the side with more room, and up where it would be cut off.
    list.classList.toggle("to-the-right", whole.getBoundingClientRect().left < window.innerWidth / 2);
    const around = whole.closest(".scroller") ?? document.documentElement;
    list.classList.remove("up");
    list.classList.toggle("up", list.getBoundingClientRect().bottom > around.getBoundingClientRect().bottom);
    opener.setAttribute("aria-expanded", "true");
    items.at(place).focus();
  }

  function close() {
    list.hidden = true;
    opener.setAttribute("aria-expanded", "false");
  }

  function choose(option) {
    close();
    opener.focus();
    if (option.url) window.open(option.url, "_blank", "noopener");
    surface.press(block, element, option.value);
  }

  function move(event) {
    const here = items.indexOf(document.activeElement);
    const place = { Home: 0, End: -1 }[event.key] ?? (here + STEPS[event.key]) % items.length;
    if (event.key === "Escape") {
      // A modal around it stays open.
      event.preventDefault();
      event.stopPropagation();
      close();
      opener.focus();
    } else if (!Number.isNaN(place)) {
      event.preventDefault();
      items.at(place).focus();
    }
  }

  function leave({ relatedTarget }) {
    if (!whole.contains(relatedTarget)) close();
  }

  return whole;
}

/** What all choices are about, where they say the same; Slack has no other words for it. */
function aboutAll(options) {
  const [about, ...others] = new Set(options.map(({ description }) => description && plain(description)));
  return others.length ? "" : about;
}

const item = (option, onclick) =>
  el(
    "button",
    { type: "button", role: "menuitem", tabindex: "-1", class: "menu-item", "data-value": option.value, onclick },
    el("span", {}, plain(option.text)),
    option.description && el("span", { class: "menu-about" }, plain(option.description)),
  );
