/** XpertAI: its `on_interrupt` event in, the chat request that resumes the conversation out. */

import { readFile } from "node:fs/promises";
import { resumed, review } from "./assent.js";

/** What `humanInTheLoopMiddleware` of XpertAI pauses with. */
export interface Pause {
  actionRequests: { name: string; args: Record<string, unknown>; description?: string }[];
  reviewConfigs: { actionName: string; allowedDecisions: string[]; argsSchema?: object }[];
}

export interface InterruptEvent {
  event: "on_interrupt";
  data: { tasks: { id: string; name: string; interrupts: { id: string; value: Pause }[] }[] };
}

export interface ResumeRequest {
  action: "resume";
  conversationId: string;
  target: { aiMessageId?: string; executionId?: string };
  decision: { type: "confirm"; payload: unknown };
}

/** Have every pause of the event decided, and hand the request that resumes to `deliver`. */
export async function onInterrupt(
  event: InterruptEvent,
  conversation: { conversationId: string; target: ResumeRequest["target"] },
  deliver: (request: ResumeRequest) => Promise<void>,
): Promise<void> {
  const pauses = event.data.tasks.flatMap((task) => task.interrupts);
  const { resume, states } = await review(pauses, { run: conversation.conversationId, dialect: "camel_case" });
  // "confirm" says that people decided, also where they rejected: XpertAI reads the rest in the payload.
  await deliver({ action: "resume", ...conversation, decision: { type: "confirm", payload: resume } });
  await resumed(states);
}

const [, , file, conversationId = "conversation-1", aiMessageId = "message-1"] = process.argv;
if (!file) throw new Error("usage: npm run xpert -- event.json [conversation id] [message id]");
const event = JSON.parse(await readFile(file, "utf8")) as InterruptEvent;
await onInterrupt(event, { conversationId, target: { aiMessageId } }, async (request) => {
  // Here: POST the request to the chat endpoint of your XpertAI server.
  console.log(JSON.stringify(request));
});
