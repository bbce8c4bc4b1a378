/** The app's Home tab, as it was published for one person. */

import { api } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { el, focusKey, restoreFocus } from "./dom.js";
import { personName } from "./directory.js";
import { createPresses } from "./presses.js";

/** Make the Home tab; arguments as for the timeline. */
export function createHome({ reader, onAnswer }) {
  const place = document.querySelector("[data-testid=home]");
  let view;
  /** Block -> what was typed into it since the tab was published. */
  let drafts = new Map();
  const presses = createPresses({ onChange: () => draw(), onAnswer });

  function draw() {
    const focus = place.contains(document.activeElement) && focusKey();
    place.dataset.viewId = view?.id ?? "";
    place.replaceChildren(...(view ? renderBlocks(view.blocks, surface()) : [nothing()]));
    if (focus) restoreFocus(focus);
  }

  function surface() {
    const { id, blocks } = view;
    presses.last(id, blocks);
    const press = (pressed) =>
      api.clickInView(id, { user: reader(), values: Object.fromEntries(drafts), ...pressed });
    return {
      ...presses.surface(id, blocks, press),
      place: "home",
      draft: (block) => drafts.get(block.block_id),
      state: (block) => view.state?.values?.[block.block_id]?.[block.element.action_id],
      keep: (block, value) => drafts.set(block.block_id, value),
      error: () => undefined,
    };
  }

  const nothing = () =>
    el("p", { class: "quiet-text" }, `The app has published no Home tab for ${personName(reader())}.`);

  return {
    show(published) {
      if (published?.hash !== view?.hash) drafts = new Map();
      view = published;
      draw();
    },
  };
}
