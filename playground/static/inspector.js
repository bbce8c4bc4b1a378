/** The panel beside the channel: how each delivery was acknowledged, and the JSON of a message. */

import { copied, el, icon, reconcile } from "./dom.js";
import { clockWithSeconds } from "./text.js";

const LATEST = 200;

/** Make the panel with its two tabs; `personName` puts names to the people who pressed. */
export function createInspector({ personName }) {
  const panel = document.querySelector("#inspector");
  const toggle = document.querySelector("#inspector-toggle");
  const tabs = [...panel.querySelectorAll("[role=tab]")];
  const list = panel.querySelector("[data-testid=deliveries]");
  const wide = matchMedia("(min-width: 75rem)");
  let inspected;

  function open(isOpen) {
    panel.hidden = !isOpen;
    toggle.setAttribute("aria-expanded", String(isOpen));
    document.body.classList.toggle("with-inspector", isOpen);
  }

  /** Open by a press; where the panel covers the page, the focus goes with it. */
  function openHere() {
    open(true);
    if (!wide.matches) panel.querySelector("[aria-selected=true]").focus();
  }

  function select(tab, focus = false) {
    for (const each of tabs) {
      const chosen = each === tab;
      each.setAttribute("aria-selected", String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = !chosen;
    }
    if (focus) tab.focus();
  }

  function showDeliveries(deliveries) {
    reconcile(list, deliveries.slice(-LATEST).toReversed().map(deliveryRow));
    const failed = deliveries.filter(({ outcome }) => outcome === "failed" || outcome === "timeout").length;
    panel.querySelector("#no-deliveries").hidden = deliveries.length > 0;
    toggle.querySelector(".count").textContent = failed
      ? `${deliveries.length}, ${failed} failed`
      : deliveries.length || "";
    toggle.classList.toggle("has-failures", failed > 0);
  }

  const deliveryRow = (delivery) => ({
    key: `delivery-${delivery.id}`,
    signature: JSON.stringify(delivery),
    build: (old) => drawDelivery(delivery, old?.querySelector("details")?.open),
  });

  function drawDelivery(delivery, isOpen) {
    const { id, type, transport, user, summary, sent_at, outcome, error, retry, payload, response } =
      delivery;
    const details = el(
      "details",
      { open: isOpen },
      el(
        "summary",
        {},
        el(
          "span",
          { class: "delivery-line" },
          el("code", {}, type),
          el("span", { class: `outcome ${outcome}` }, outcomeText(delivery)),
        ),
        el("span", { class: "delivery-summary" }, summary),
        el(
          "span",
          { class: "delivery-meta" },
          [
            user && personName(user),
            clockWithSeconds(new Date(sent_at * 1000)),
            transport === "http" ? "HTTP" : "Socket Mode",
            retry && `retry ${retry}`,
          ]
            .filter(Boolean)
            .join(" · "),
        ),
        error && outcome !== "timeout" && el("span", { class: "failure" }, icon("alert"), error),
      ),
    );
    // A payload is large and seldom read: it is drawn when it is opened.
    const fill = () =>
      details.open &&
      details.childElementCount === 1 &&
      details.append(labelled("Sent", payload), response ? labelled("Answer", response) : "");
    details.addEventListener("toggle", fill);
    fill();
    return el("li", { class: "delivery", "data-delivery-id": id, "data-outcome": outcome }, details);
  }

  function inspect(message) {
    inspected = message;
    showJson();
    select(tabs[1]);
    openHere();
  }

  /** Keep the JSON on show true to the message it shows. */
  function refresh(messages) {
    const again =
      inspected && messages.find(({ channel, ts }) => channel === inspected.channel && ts === inspected.ts);
    if (!again || JSON.stringify(again) === JSON.stringify(inspected)) return;
    inspected = again;
    showJson();
  }

  const showJson = () =>
    panel.querySelector("#json").replaceChildren(labelled(`Message ${inspected.ts}`, inspected));

  toggle.addEventListener("click", () => (panel.hidden ? openHere() : open(false)));
  panel.querySelector("#inspector-close").addEventListener("click", () => {
    open(false);
    toggle.focus();
  });
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") panel.querySelector("#inspector-close").click();
    const at = tabs.indexOf(event.target);
    if (at >= 0 && ["ArrowLeft", "ArrowRight"].includes(event.key)) select(tabs[1 - at], true);
  });
  for (const tab of tabs) tab.addEventListener("click", () => select(tab));
  select(tabs[0]);

  return { showDeliveries, inspect, refresh };
}

function outcomeText({ outcome, acked_ms: ms }) {
  if (outcome === "pending") return "waiting…";
  if (outcome === "timeout") return "no answer in 3 s";
  return `${outcome === "failed" ? "failed" : ""} ${typeof ms === "number" ? duration(ms) : ""}`.trim();
}

const duration = (ms) => (ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`);

const labelled = (title, value) => copied(title, JSON.stringify(value, null, 2));
