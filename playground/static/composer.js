/** Writing as a person: messages, replies in a thread, and slash commands. */

import { api, ControlError } from "./api.js";
import { APP, personName } from "./directory.js";

const COMMAND = /^(\/\S+)\s*([\s\S]*)$/u;

/** Write the app's name as Slack does when it sends a mention. */
const mentioning = (written) => written.replaceAll(`@${personName(APP)}`, `<@${APP}>`);

/**
 * Make the composer.
 *
 * Args:
 *   where: gives the reader and the channel, asked when something is sent.
 *   onSent: called when something was sent.
 *   onTrouble: called with what went wrong in a sentence, or with "" when nothing did.
 */
export function createComposer({ where, onSent, onTrouble }) {
  const form = document.querySelector("#composer");
  const box = form.querySelector("textarea");
  const replying = form.querySelector("#replying");
  let threadTs;

  /** Answer a message in its thread from now on; without one, write to the channel. */
  function replyTo(message) {
    threadTs = message && (message.thread_ts ?? message.ts);
    replying.hidden = !message;
    if (!message) return;
    replying.querySelector("#replying-to").textContent =
      `Replying to ${personName(message.user)} in a thread`;
    box.focus();
  }

  async function send(event) {
    event.preventDefault();
    const written = box.value.trim();
    if (!written) return;
    try {
      await deliver(written);
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      onTrouble(error.message);
      return;
    }
    box.value = "";
    replyTo(undefined);
    onSent();
  }

  async function deliver(written) {
    const [, command, text] = COMMAND.exec(written) ?? [];
    if (!command) {
      await api.say({ ...where(), text: mentioning(written), thread_ts: threadTs });
      onTrouble("");
      return;
    }
    const { ack } = await api.command({ ...where(), command, text });
    onTrouble(ack.ok ? "" : `${command} failed: ${ack.error}.`);
  }

  form.addEventListener("submit", send);
  form.querySelector("#replying-stop").addEventListener("click", () => {
    replyTo(undefined);
    box.focus();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
    if (event.key === "Escape") replyTo(undefined);
  });

  return {
    replyTo,
    /** Say where and as whom one writes; without a channel there is nothing to write to. */
    show(channelName, reader) {
      form.hidden = !channelName;
      box.placeholder = `Message ${channelName} as ${personName(reader)}`;
      box.setAttribute("aria-label", box.placeholder);
    },
  };
}
