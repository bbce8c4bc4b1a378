/** Building the page's nodes. Text always arrives as text nodes, so nothing a message says can become markup. */

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  alert: "M8 1.8 15 14H1L8 1.8Zm0 4.4v3.6m0 1.9v.4",
  back: "M9.8 3 4.8 8l5 5",
  braces: "M6 2.5C3.5 2.5 5 7 2.5 8 5 9 3.5 13.5 6 13.5m4-11C12.5 2.5 11 7 13.5 8 11 9 12.5 13.5 10 13.5",
  close: "m3.5 3.5 9 9m0-9-9 9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  down: "m3.5 6 4.5 4.5L12.5 6",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8Zm6.5 1.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z",
  house: "M2.5 7.5 8 2.8l5.5 4.7v6h-4v-4h-3v4h-4z",
  image: "M2 3h12v10H2zm2.5 3.5h.01M2.5 12l4-4 3 3 2-2 2.5 2.5",
  lock: "M3.5 7.5h9v6h-9zm2-0V5a2.5 2.5 0 0 1 5 0v2.5",
  shield: "M8 1.6 13.4 3.6v4.2c0 3.2-2.2 5.4-5.4 6.6-3.2-1.2-5.4-3.4-5.4-6.6V3.6Zm-2.5 6.3 1.9 1.9 3.3-3.6",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  reply: "M6.5 3.5 2.5 7.5l4 4M2.5 7.5h7a4 4 0 0 1 4 4v1",
};

/** Create an element: attributes by name, listeners as `onclick`; absent values and children are left out. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false),
  );
  return node;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Show a text under its title, with a button that copies it. */
export function copied(title, text) {
  const copy = async ({ currentTarget: button }) => {
    await navigator.clipboard.writeText(text);
    button.lastChild.textContent = "Copied";
    setTimeout(() => (button.lastChild.textContent = "Copy"), 1500);
  };
  const button = { type: "button", class: "tool", "aria-label": `Copy ${title}`, onclick: copy };
  return el(
    "figure",
    { class: "copied" },
    el("figcaption", {}, title, el("button", button, icon("copy"), "Copy")),
    el("pre", { tabindex: "0" }, text),
  );
}

/**
 * Make a list's children agree with `items`, rebuilding only those whose signature changed.
 *
 * An item is `{key, signature, build}`. Nodes that stay are not moved, so focus and open details stay as well.
 */
export function reconcile(list, items) {
  const known = new Map([...list.children].map((node) => [node.dataset.key, node]));
  let position = list.firstElementChild;
  for (const { key, signature, build } of items) {
    let node = known.get(key);
    known.delete(key);
    if (node?.signature !== signature) {
      const fresh = build(node);
      fresh.dataset.key = key;
      fresh.signature = signature;
      if (node === position) position = node?.nextElementSibling ?? null;
      replaceKeepingFocus(node, fresh);
      node = fresh;
      if (!node.isConnected) list.insertBefore(node, position);
      else position = node.nextElementSibling;
    } else if (node === position) {
      position = node.nextElementSibling;
    } else {
      list.insertBefore(node, position);
    }
  }
  for (const node of known.values()) removeKeepingFocus(node);
}

function removeKeepingFocus(node) {
  const neighbour = node.nextElementSibling ?? node.previousElementSibling ?? node.parentElement;
  const hasFocus = node.contains(document.activeElement);
  node.remove();
  if (hasFocus) firstStop(neighbour).focus({ preventScroll: true });
}

function replaceKeepingFocus(old, fresh) {
  if (!old?.isConnected) return;
  const focus = old.contains(document.activeElement) && focusKey();
  old.replaceWith(fresh);
  if (focus) restoreFocus(focus);
}

/** By one of these a control is found again once it is drawn anew. */
const NAMES = ["data-action-id", "data-hook", "data-channel", "data-thread"];

/** Say where the focus is, in words that survive a redrawing: in which row, and on which control of it. */
export function focusKey(active = document.activeElement) {
  const owner = active.closest("[data-key]");
  // What stands in a menu is gone when the menu is drawn anew.
  const control = active.closest(".menu")?.firstElementChild ?? active.closest(NAMES.map((name) => `[${name}]`).join());
  return owner && { owner: owner.dataset.key, control: control && owner.contains(control) && meaning(control) };
}

/**
 * Put the focus back where it was, or on the row when its control is gone.
 *
 * A control that does something else now, or says something else, counts as gone: whoever presses it has to meet it anew.
 */
export function restoreFocus(key) {
  const { row, same } = find(key);
  if (row) (same ?? firstStop(row)).focus({ preventScroll: true });
}

/** Find by its key the row that is there now, and in it the control that still means the same. */
export function find({ owner, control }) {
  const row = document.querySelector(`[data-key="${CSS.escape(owner)}"]`);
  const named = (control && row?.querySelectorAll(`[${control.name}="${CSS.escape(control.value)}"]`)) ?? [];
  return { row, same: [...named].find((found) => JSON.stringify(meaning(found)) === JSON.stringify(control)) };
}

function meaning(control) {
  const name = NAMES.find((each) => control.hasAttribute(each));
  const says = control.matches("button") && control.textContent;
  return { name, value: control.getAttribute(name), subject: control.dataset.subject, says };
}

/** What a reader comes to first in a row: itself, or the first control in it. */
const firstStop = (row) =>
  row.matches("[tabindex]") ? row : (row.querySelector("[tabindex], button, summary") ?? row);

/** Tell people who listen to the page in place of seeing it. */
export function announce(...texts) {
  document.querySelector("#announcer").replaceChildren(...texts.map((text) => el("p", {}, text)));
}
