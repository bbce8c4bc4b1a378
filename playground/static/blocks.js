/**
 * Block Kit as nodes.
 *
 * A surface says what a message and a modal do differently: `press(block, element, selected)` when something is
 * pressed, `waiting(action_id)` and `failure(block)` for what became of it. A modal also has inputs:
 * `draft(block)`, `state(block)`, `keep(block, value)` and `error(block_id)`. So has a Home tab, with a `place` that sets
 * its inputs apart from those of a modal above it.
 */

import { el, icon } from "./dom.js";
import { INTERACTIVE_INPUTS, renderInput } from "./inputs.js";
import { overflow } from "./menu.js";
import { richText } from "./rich_text.js";
import { table } from "./table.js";
import { plain, textNodes } from "./text.js";

/** Draw the blocks of a message or a modal. */
export function renderBlocks(blocks, surface) {
  return blocks.map((block) =>
    el("div", { class: `block block-${block.type}`, "data-block-id": block.block_id }, drawn(block, surface)),
  );
}

/** One block. Where drawing it fails, this is said in its place, and all others are drawn. */
function drawn(block, surface) {
  const draw = BLOCKS[block.type] ?? unsupported;
  try {
    return draw(block, surface);
  } catch (error) {
    console.error(error);
    return unsupported(block);
  }
}

const BLOCKS = {
  header: (block) => el(`h${Math.min((block.level ?? 1) + 2, 6)}`, {}, plain(block.text)),
  divider: () => el("hr"),
  rich_text: richText,
  section: (block, surface) => [
    el(
      "div",
      { class: "section-body" },
      block.text && el("div", { class: "text" }, textNodes(block.text)),
      block.fields &&
        el(
          "div",
          { class: "fields" },
          block.fields.map((field) => el("div", { class: "text" }, textNodes(field))),
        ),
    ),
    block.accessory && el("div", { class: "accessory" }, renderElement(block, block.accessory, surface)),
    failureNote(block, surface),
  ],
  context: (block) =>
    block.elements.map((item) =>
      item.type === "image" ? picture(item) : el("span", { class: "text" }, textNodes(item)),
    ),
  actions: (block, surface) => [
    el(
      "div",
      { class: "buttons" },
      block.elements.map((element) => renderElement(block, element, surface)),
    ),
    failureNote(block, surface),
  ],
  input: (block, surface) => (surface.keep ? renderField(block, surface) : unsupported(block)),
  image: (block) => [block.title && el("p", { class: "text" }, plain(block.title)), picture(block)],
  // Its signs stay as they are written.
  markdown: (block) => el("div", { class: "text" }, block.text),
  table,
  alert: (block) => [
    icon("alert"),
    el("span", { class: "visually-hidden" }, `${ALERTS[block.level] ?? "Note"}: `),
    el("div", { class: "text" }, textNodes(block.text)),
  ],
  container: (block, surface) => {
    const parts = el("div", {}, renderBlocks(block.child_blocks, surface));
    const title = block.title ? plain(block.title) : richText(block.rich_text_title);
    const about = block.subtitle && el("span", { class: "quiet" }, plain(block.subtitle));
    return block.is_collapsible
      ? el("details", { open: !block.default_collapsed }, el("summary", {}, title, about), parts)
      : [el("div", { class: "container-title" }, title, about), parts];
  },
};

/** What the colour of an alert says, in a word. */
const ALERTS = { info: "Information", warning: "Warning", error: "Error", success: "Success" };

/** An image by its words: the page loads nothing from anywhere else. */
const picture = (image) => el("span", { class: "picture" }, icon("image"), image.alt_text);

/** A block this page cannot draw is named, never left out. */
const unsupported = (block) =>
  el(
    "p",
    { class: "unsupported" },
    `This page does not draw “${block.type}” blocks. Its JSON shows everything.`,
  );

function renderElement(block, element, surface) {
  if (element.type === "button") return button(block, element, surface);
  if (element.type === "overflow") return overflow(block, element, surface);
  if (element.type === "image") return picture(element);
  if (INTERACTIVE_INPUTS.has(element.type)) {
    const label = element.placeholder ? plain(element.placeholder) : element.action_id;
    return renderInput(element, {
      label,
      acts: true,
      onChange: (selected) => surface.press(block, element, selected),
    });
  }
  return unsupported(element);
}

function button(block, element, surface) {
  const waiting = surface.waiting(element.action_id);
  return el(
    "button",
    {
      type: "button",
      class: `button ${element.style ?? ""} ${waiting === "pressed" ? "busy" : ""}`,
      "data-action-id": element.action_id,
      "data-subject": element.value,
      "aria-label": element.accessibility_label,
      "aria-disabled": waiting ? "true" : undefined,
      "aria-busy": waiting === "pressed" ? "true" : undefined,
      onclick: () => !waiting && surface.press(block, element),
    },
    plain(element.text),
  );
}

function failureNote(block, surface) {
  const failure = surface.failure(block);
  return (
    failure &&
    el("p", { class: "failure", role: "alert", "data-testid": "click-failure" }, icon("alert"), failure)
  );
}

function renderField(block, surface) {
  const { element, block_id: id } = block;
  const control = `${surface.place ?? "input"}-${id}`;
  const error = surface.error(id);
  const describedBy = [block.hint && `${control}-hint`, error && `${control}-error`]
    .filter(Boolean)
    .join(" ");
  const label = plain(block.label);
  return el(
    "div",
    { class: `field ${error ? "invalid" : ""}` },
    el(
      "label",
      { for: control, id: `${control}-label` },
      label,
      block.optional && el("span", { class: "optional" }, " (optional)"),
    ),
    renderInput(element, {
      id: control,
      describedBy: describedBy || undefined,
      invalid: Boolean(error),
      required: !block.optional,
      draft: surface.draft(block),
      state: surface.state(block),
      onChange: (value) => surface.keep(block, value),
    }),
    error && errorNote(id, error),
    block.hint && el("p", { class: "hint", id: `${control}-hint` }, plain(block.hint)),
  );
}

/** What is wrong with one input, placed beside it. */
export function errorNote(blockId, text) {
  return el(
    "p",
    { class: "error", id: `input-${blockId}-error`, "data-error-for": blockId },
    icon("alert"),
    text,
  );
}
