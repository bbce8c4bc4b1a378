/** What became of a press on a message or the Home tab: it waits, or says in place that it may be lost. */

import { ask } from "./dialogs.js";
import { plain } from "./text.js";

/**
 * Ask what an element wants to have asked before it acts.
 *
 * Returns:
 *   Whether to go on.
 */
export async function isConfirmed(element) {
  if (element.confirm && !(await ask(element.confirm))) return false;
  if (element.url) window.open(element.url, "_blank", "noopener");
  return true;
}

/**
 * Make the memory of presses.
 *
 * Args:
 *   onChange: called whenever something has to be drawn anew.
 *   onAnswer: called with the answer to every press.
 */
export function createPresses({ onChange, onAnswer }) {
  // One for each owner of blocks: while it waits nothing else can be pressed there, and the next takes its place.
  const presses = new Map();

  function remember(owner, press) {
    press ? presses.set(owner, press) : presses.delete(owner);
    onChange();
  }

  /** The surface of an owner's blocks; `send` delivers a press and gives its answer. */
  function surface(owner, blocks, send) {
    const last = presses.get(owner);
    return {
      waiting: (actionId) => last?.waiting && (last.actionId === actionId ? "pressed" : "other"),
      failure: (block) =>
        elementsOf(block).some(({ action_id: id }) => id && id === last?.actionId) && last.failure,
      press: async (block, element, selected) => {
        if (!(await isConfirmed(element))) return;
        const actionId = element.action_id;
        remember(owner, { actionId, waiting: true });
        const { answer = {}, failure } = await outcome(
          send({ action_id: actionId, block_id: block.block_id, selected }),
          element,
        );
        remember(owner, failure && { actionId, failure, content: JSON.stringify(blocks) });
        onAnswer(answer);
      },
    };
  }

  /** What is remembered of an owner's last press; a failure is forgotten once the blocks have changed since. */
  function last(owner, blocks) {
    const press = presses.get(owner);
    if (press?.failure && press.content !== JSON.stringify(blocks)) presses.delete(owner);
    return presses.get(owner);
  }

  return { surface, last };
}

const elementsOf = (block) => [...(block.elements ?? []), block.accessory].filter(Boolean);

async function outcome(sent, element) {
  const missed = (why) =>
    `The bot may have missed “${element.text ? plain(element.text) : element.action_id}”: ${why}`;
  try {
    const answer = await sent;
    const { ok, error } = answer.ack;
    return {
      answer,
      failure: ok ? undefined : missed(`${error}. Slack does not send a press again; press once more.`),
    };
  } catch (error) {
    return { failure: missed(error.message) };
  }
}
