/** A question before something is done, as Block Kit's `confirm` object asks it. */

import { el, focusKey, restoreFocus } from "./dom.js";
import { plain, textNodes } from "./text.js";

/** Ask, and answer whether the person agreed. Escape declines; the focus starts on the safe answer. */
export function ask(question) {
  const opener = focusKey();
  return new Promise((resolve) => {
    const dialog = el(
      "dialog",
      { class: "dialog confirm", "aria-labelledby": "confirm-title", "data-testid": "confirm" },
      el(
        "form",
        { method: "dialog" },
        el("h2", { id: "confirm-title" }, plain(question.title)),
        el("div", { class: "dialog-body text" }, textNodes(question.text)),
        el(
          "footer",
          {},
          el(
            "button",
            { class: "button", value: "", autofocus: true, "data-testid": "confirm-deny" },
            plain(question.deny),
          ),
          el(
            "button",
            {
              class: `button ${question.style ?? "primary"}`,
              value: "agreed",
              "data-testid": "confirm-accept",
            },
            plain(question.confirm),
          ),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      // What asked may have been drawn anew meanwhile.
      if (opener) restoreFocus(opener);
      resolve(dialog.returnValue === "agreed");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
