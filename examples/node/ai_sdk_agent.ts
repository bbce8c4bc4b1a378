/** An agent of the AI SDK whose calls run only as people in Slack decided. Its model is scripted. */

import { randomUUID } from "node:crypto";
import { generateText, type LanguageModel, type ModelMessage, stepCountIs, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Assent } from "assent";
import { answer, gated } from "assent/ai-sdk";
import { z } from "zod";

const tools = gated({
  payInvoice: tool({
    description: "Pay an invoice.",
    inputSchema: z.object({ number: z.int(), amount: z.number() }),
    execute: async ({ number, amount }) => told(`paid ${amount} for invoice ${number}`),
  }),
  deleteFile: tool({
    description: "Delete a file.",
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => told(`deleted ${path}`),
  }),
});

function told(line: string): string {
  console.log(line);
  return line;
}

const count = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
const calls = { payInvoice: { number: 17, amount: 99.5 }, deleteFile: { path: "old.txt" } };
const scripted = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const isDone = prompt.at(-1)?.role === "tool";
    const parts = Object.entries(calls).map(([toolName, input], index) => {
      return { type: "tool-call" as const, toolCallId: `call_${index}`, toolName, input: JSON.stringify(input) };
    });
    return {
      content: isDone ? [{ type: "text", text: "That is settled." }] : parts,
      finishReason: { unified: isDone ? "stop" : "tool-calls", raw: undefined },
      usage: { inputTokens: count, outputTokens: count },
      warnings: [],
    };
  },
});

const { ASSENT_URL = "http://localhost:3000", ASSENT_KEY = "" } = process.env;
const approvals = new Assent({ url: ASSENT_URL, key: ASSENT_KEY });
const run = randomUUID();
const model: LanguageModel = scripted;
const toolApproval = { payInvoice: "user-approval", deleteFile: "user-approval" } as const;
const messages: ModelMessage[] = [{ role: "user", content: "Settle invoice 17, and tidy up." }];
for (;;) {
  const result = await generateText({ model, tools, toolApproval, messages, stopWhen: stepCountIs(9) });
  messages.push(...result.responseMessages);
  console.log(result.text || "asking in Slack …");
  const answers = await answer(approvals, messages, { run, tools });
  if (!answers) break;
  messages.push(answers);
}
