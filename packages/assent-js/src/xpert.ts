/** XpertAI: its `on_interrupt` event in, the chat request that resumes the conversation out. */

import type { Asking, Assent, Pause } from "./client.js";
import { reviewing } from "./langchain.js";

export interface InterruptEvent {
  event: "on_interrupt";
  data: { tasks: { id: string; name: string; interrupts: Pause[] }[] };
}

export interface Conversation {
  conversationId: string;
  target: { aiMessageId?: string; executionId?: string };
}

export interface ResumeRequest extends Conversation {
  action: "resume";
  decision: { type: "confirm"; payload: unknown };
}

/**
 * Have every pause of the event decided, and hand the request that resumes the conversation to `deliver`.
 *
 * @throws AssentError as in `Assent.reviewing`. Nothing was delivered.
 */
export async function onInterrupt(
  approvals: Assent,
  event: InterruptEvent,
  conversation: Conversation,
  deliver: (request: ResumeRequest) => Promise<void>,
  asking: Omit<Asking, "run"> = {},
): Promise<void> {
  const pauses = event.data.tasks.flatMap((task) => task.interrupts);
  // "confirm" says that people decided, also where they rejected: XpertAI reads the rest in the payload.
  await reviewing(approvals, pauses, { ...asking, run: conversation.conversationId, dialect: "camel_case" }, (payload) =>
    deliver({ action: "resume", ...conversation, decision: { type: "confirm", payload } }),
  );
}
