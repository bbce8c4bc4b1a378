/** A LangChain agent whose calls run only as people in Slack decided. MODEL names a chat model; without it, it is scripted. */

import { randomUUID } from "node:crypto";
import { Command, MemorySaver } from "@langchain/langgraph";
import { Assent } from "assent";
import { reviewing } from "assent/langchain";
import { createAgent, FakeToolCallingModel, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";

const sendEmail = tool(({ to, subject }) => told(`sent ${subject} to ${to}`), {
  name: "send_email",
  description: "Send an e-mail.",
  schema: z.object({ to: z.string(), subject: z.string() }),
});
const payInvoice = tool(({ number, amount }) => told(`paid ${amount} for invoice ${number}`), {
  name: "pay_invoice",
  description: "Pay an invoice.",
  schema: z.object({ number: z.int(), amount: z.number() }),
});
const deleteFile = tool(({ path }) => told(`deleted ${path}`), {
  name: "delete_file",
  description: "Delete a file.",
  schema: z.object({ path: z.string() }),
});

function told(line: string): string {
  console.log(line);
  return line;
}

const scripted = new FakeToolCallingModel({
  toolCalls: [
    [
      { name: "send_email", args: { to: "dana@example.com", subject: "Reminder" }, id: "call_1" },
      { name: "pay_invoice", args: { number: 17, amount: 99.5 }, id: "call_2" },
      { name: "delete_file", args: { path: "old.txt" }, id: "call_3" },
    ],
    [],
  ],
});
const agent = createAgent({
  model: process.env.MODEL ?? scripted,
  tools: [sendEmail, payInvoice, deleteFile],
  middleware: [humanInTheLoopMiddleware({ interruptOn: { send_email: true, pay_invoice: true, delete_file: true } })],
  checkpointer: new MemorySaver(),
});

const { ASSENT_URL = "http://localhost:3000", ASSENT_KEY = "" } = process.env;
const approvals = new Assent({ url: ASSENT_URL, key: ASSENT_KEY });
const run = process.env.THREAD ?? randomUUID();
const config = { configurable: { thread_id: run } };
let result = await agent.invoke({ messages: [{ role: "user", content: "Settle invoice 17, and tidy up." }] }, config);
while (result.__interrupt__?.length) {
  console.log("asking in Slack …");
  result = await reviewing(approvals, result.__interrupt__, { run }, (resume) =>
    agent.invoke(new Command({ resume }), config),
  );
}
for (const message of result.messages.filter((m) => m.type === "tool")) {
  console.log(`${message.name}: ${message.text}`);
}
