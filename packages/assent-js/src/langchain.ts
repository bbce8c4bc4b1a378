/** LangChain JS: the pauses of `humanInTheLoopMiddleware`. */

import type { Asking, Assent, Pause } from "./client.js";
import { copyOf } from "./json.js";

/**
 * Ask about all pauses of a turn, and resume with the answer:
 *
 *     result = await reviewing(approvals, result.__interrupt__, { run: threadId }, (resume) =>
 *       agent.invoke(new Command({ resume }), config));
 *
 * @throws AssentError as in `Assent.reviewing`.
 */
export async function reviewing<T>(
  approvals: Assent,
  pauses: readonly Pause[],
  asking: Asking & { run: string; dialect?: string },
  resume: (answer: any, lost: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const copies = pauses.map(({ id, value }, index) => ({ id, value: copyOf(value, `pauses[${index}].value`) }));
  // One rejection makes LangChain JS drop the other calls of its batch; this dialect has the card say so.
  return await approvals.reviewing(copies, { dialect: "langchain_js", ...asking }, (states, lost) => {
    // LangGraph takes the answer to one pause as it is, and those to several by the ids of the pauses.
    const byId = Object.fromEntries(pauses.map(({ id }, index) => [id, states[index]!.resume]));
    return resume(pauses.length === 1 ? states[0]!.resume : byId, lost);
  });
}
