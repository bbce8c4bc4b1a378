/** XpertAI: has the pauses of an `on_interrupt` event decided, and prints the request that resumes the conversation. */

import { readFile } from "node:fs/promises";
import { Assent } from "assent";
import { type InterruptEvent, onInterrupt } from "assent/xpert";

const [, , file, conversationId = "conversation-1", aiMessageId = "message-1"] = process.argv;
if (!file) throw new Error("usage: npm run xpert -- event.json [conversation id] [message id]");
const { ASSENT_URL = "http://localhost:3000", ASSENT_KEY = "" } = process.env;
const approvals = new Assent({ url: ASSENT_URL, key: ASSENT_KEY });
const event = JSON.parse(await readFile(file, "utf8")) as InterruptEvent;
await onInterrupt(approvals, event, { conversationId, target: { aiMessageId } }, async (request) => {
  // Here: POST the request to the chat endpoint of your XpertAI server.
  console.log(JSON.stringify(request));
});
