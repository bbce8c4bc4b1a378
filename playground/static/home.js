/** The app's Home tab, as it was published for one person. */

import { api } from "./api.js";
import { renderBlocks } from "./blocks.js";
import { el } from "./dom.js";
import { personName } from "./directory.js";
import { createPresses } from "./presses.js";

/** Make the Home tab; arguments as for the timeline. */
export function createHome({ reader, onAnswer }) {
  const place = document.querySelector("[data-testid=home]");
  let view;
  const presses = createPresses({ onChange: () => draw(), onAnswer });

  function draw() {
    place.dataset.viewId = view?.id ?? "";
    place.replaceChildren(...(view ? renderBlocks(view.blocks, surface()) : [nothing()]));
  }

  function surface() {
    const { id, blocks } = view;
    presses.last(id, blocks);
    return presses.surface(id, blocks, (press) => api.clickInView(id, { user: reader(), ...press }));
  }

  const nothing = () =>
    el("p", { class: "quiet-text" }, `The app has published no Home tab for ${personName(reader())}.`);

  return {
    show(published) {
      view = published;
      draw();
    },
  };
}
