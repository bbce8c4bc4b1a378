/** The modal: the top of a person's view stack, with what they typed kept until the view is gone. */

import { api } from "./api.js";
import { errorNote, renderBlocks } from "./blocks.js";
import { announce, el, icon } from "./dom.js";
import { isConfirmed } from "./presses.js";
import { plain } from "./text.js";

/**
 * Make the page's modal.
 *
 * Args:
 *   reader: who the page acts as, asked at every press.
 *   onAnswer: called after every press, since anything may have changed.
 *   onOpening: called before the first view takes the focus.
 *   onClosed: called when the last view is gone.
 */
export function createModal({ reader, onAnswer, onOpening, onClosed }) {
  const dialog = document.querySelector("[data-testid=modal]");
  const drafts = new Map();
  let stack = [];
  let shown = { id: undefined, signature: "" };
  let errors = {};
  let trouble = "";
  let waiting = "";

  const top = () => stack.at(-1);
  const draftsOf = (view) => drafts.get(view.id) ?? drafts.set(view.id, new Map()).get(view.id);

  const surface = {
    waiting: (actionId) => waiting && (waiting === actionId ? "pressed" : "other"),
    failure: () => undefined,
    error: (blockId) => errors[blockId],
    draft: (block) => {
      const kept = draftsOf(top()).get(block.block_id);
      return kept?.actionId === block.element.action_id ? kept.value : undefined;
    },
    state: (block) => top().state?.values?.[block.block_id]?.[block.element.action_id],
    keep: (block, value) => {
      draftsOf(top()).set(block.block_id, { actionId: block.element.action_id, value });
      clearError(block.block_id);
    },
    press: async (block, element, selected) => {
      if (!(await isConfirmed(element))) return;
      await send(element.action_id, (view) =>
        api.clickInView(view.id, {
          ...form(view),
          action_id: element.action_id,
          block_id: block.block_id,
          selected,
        }),
      );
    },
  };

  /** Only what was touched is sent: an untouched input keeps its initial value to the letter. */
  function form(view) {
    const inputs = view.blocks.filter(
      (block) => block.type === "input" && surface.draft(block) !== undefined,
    );
    return {
      user: reader(),
      values: Object.fromEntries(inputs.map((block) => [block.block_id, surface.draft(block)])),
    };
  }

  async function send(what, request) {
    const view = top();
    if (waiting || !view) return;
    waiting = what;
    trouble = "";
    draw();
    try {
      const answer = await request(view);
      errors = answer.errors ?? {};
      trouble =
        answer.ack && !answer.ack.ok ? `We had some trouble connecting: ${answer.ack.error}. Try again.` : "";
      stack = answer.views ?? stack;
    } catch (error) {
      trouble = error.message;
    }
    waiting = "";
    show(stack, { redraw: true });
    focusFirstError();
    onAnswer();
  }

  const submit = (event) => {
    event.preventDefault();
    send("submit", (view) => api.submitView(view.id, form(view)));
  };
  const close = (clear) => send("close", (view) => api.closeView(view.id, { user: reader(), clear }));

  function show(views, { redraw = false } = {}) {
    stack = views;
    const view = top();
    for (const id of drafts.keys()) if (!views.some((open) => open.id === id)) drafts.delete(id);
    if (!redraw && view?.id !== shown.id) [errors, trouble] = [{}, ""];
    const signature = JSON.stringify(views);
    if (!view) hide();
    else if (redraw || signature !== shown.signature) draw();
    shown = { id: view?.id, signature };
  }

  function hide() {
    if (!dialog.open) return;
    dialog.close();
    dialog.replaceChildren();
    delete dialog.dataset.viewId;
    onClosed();
  }

  function draw() {
    const view = top();
    const isNew = view.id !== shown.id;
    const place = isNew ? () => focusFirst(dialog) : remember(dialog);
    dialog.dataset.viewId = view.id;
    dialog.dataset.depth = stack.length;
    dialog.replaceChildren(sheet(view));
    if (!dialog.open) {
      onOpening();
      dialog.showModal();
    }
    place();
    if (isNew) announce(plain(view.title));
  }

  function sheet(view) {
    const below = stack.at(-2);
    return el(
      "form",
      { novalidate: true, onsubmit: submit, "aria-busy": waiting ? "true" : undefined },
      el(
        "header",
        {},
        below && iconButton("back", `Back to ${plain(below.title)}`, () => close(false)),
        el("h2", { id: "modal-title", tabindex: "-1" }, plain(view.title)),
        iconButton("close", below ? "Close all" : "Close", () => close(stack.length > 1)),
      ),
      el(
        "div",
        { class: "dialog-body", "data-scroll": true },
        el(
          "div",
          { role: "alert", "data-testid": "modal-trouble" },
          trouble && el("p", { class: "failure" }, icon("alert"), trouble),
        ),
        renderBlocks(view.blocks, surface),
      ),
      el(
        "footer",
        {},
        el(
          "button",
          { type: "button", class: "button", "data-testid": "modal-close", onclick: () => close(false) },
          view.close ? plain(view.close) : view.submit ? "Cancel" : "Close",
        ),
        view.submit &&
          el(
            "button",
            {
              type: "submit",
              class: `button primary ${waiting === "submit" ? "busy" : ""}`,
              "data-testid": "modal-submit",
              "aria-disabled": waiting ? "true" : undefined,
            },
            plain(view.submit),
          ),
      ),
    );
  }

  function iconButton(name, label, onclick) {
    return el(
      "button",
      { type: "button", class: "icon-button", "aria-label": label, title: label, onclick },
      icon(name),
    );
  }

  function clearError(blockId) {
    if (!errors[blockId]) return;
    delete errors[blockId];
    const note = dialog.querySelector(`[data-error-for="${CSS.escape(blockId)}"]`);
    note?.parentElement.classList.remove("invalid");
    note?.parentElement.querySelector("[aria-invalid]")?.removeAttribute("aria-invalid");
    note?.remove();
  }

  function focusFirstError() {
    const [note] = dialog.querySelectorAll("[data-error-for]");
    if (!note) {
      // An error for a block that is not on the page must not be swallowed.
      const lost = Object.entries(errors)[0];
      if (lost) dialog.querySelector("[data-testid=modal-trouble]")?.append(errorNote(...lost));
      return;
    }
    const control = note.parentElement.querySelector(".control, .choices input");
    control?.focus();
    note.scrollIntoView({ block: "nearest" });
  }

  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.addEventListener("keydown", (event) => {
    // A key that is still held down from the press before it decides nothing here.
    if (event.key === "Enter" && event.repeat) event.preventDefault();
    else if (event.key === "Escape") {
      event.preventDefault();
      close(false);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && top()?.submit) {
      submit(event);
    }
  });

  return { show };
}

/** Note focus, selection and scrolling, and give back how to restore them once the sheet is redrawn. */
function remember(dialog) {
  const active = document.activeElement;
  const { id, value, selectionStart, selectionEnd } = active;
  const action = active.closest("[data-action-id]")?.dataset.actionId;
  const hook = active.dataset.testid;
  const scroll = dialog.querySelector("[data-scroll]")?.scrollTop ?? 0;
  return () => {
    const owner = action && dialog.querySelector(`[data-action-id="${CSS.escape(action)}"]`);
    const choice = owner?.matches(".choices") && owner.querySelector(`input[value="${CSS.escape(value)}"]`);
    const again =
      (id && dialog.querySelector(`#${CSS.escape(id)}`)) ||
      choice ||
      owner ||
      (hook && dialog.querySelector(`[data-testid="${hook}"]`));
    // Without what had the focus, this is another page of the view: it is read from its top.
    (again || dialog.querySelector("h2")).focus({ preventScroll: true });
    if (typeof selectionStart === "number") again?.setSelectionRange?.(selectionStart, selectionEnd);
    dialog.querySelector("[data-scroll]").scrollTop = again ? scroll : 0;
  };
}

/** Have the keyboard begin with the first field, or with the title where there is something to read before it. */
function focusFirst(dialog) {
  const field =
    dialog.querySelector("[data-focus-on-load]") ??
    dialog.querySelector("[data-scroll] > .block-input:nth-child(2) :is(.control, .choices input)");
  (field ?? dialog.querySelector("h2")).focus({ preventScroll: true });
}
