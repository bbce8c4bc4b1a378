/** AI SDK 7: asks about all calls of a turn that wait for approval, and answers them together. */

import { type Call, copied, type DecidedCall } from "./calls.js";
import type { Asking, Assent } from "./client.js";
import { ConflictError, DecisionNotAllowedError, InvalidRequestError } from "./errors.js";
import { decisions, editNote, gateOf, type Messages, type Part, partsOf, type Tool } from "./gated.js";
import { digestOf, isSame } from "./json.js";
import { misfit, schemaOf } from "./schemas.js";

export { gated } from "./gated.js";

/** The message that answers a turn. */
export interface Answers {
  role: "tool";
  content: { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }[];
}

/** A request for approval, the call that it is about, and the tool if it is gated. */
interface Waiting {
  request: Part;
  call: Part;
  gate: Tool | undefined;
}

/**
 * Ask about all calls of the last turn that wait for approval, on one card, and wait. The answer is used up when this returns.
 *
 * @param messages The conversation, with the paused turn at its end. What runs is read from it.
 * @param options `run` is the id of the conversation. With `tools`, calls of gated tools can be edited.
 * @returns The message to append, or `undefined` when nothing waits.
 * @throws ConsumedError when this pause was answered before.
 * @throws ConflictError when its calls are not those that people were asked about.
 * @throws AssentError as in `Assent.ask`. No call has run.
 */
export async function answer(
  approvals: Assent,
  messages: Messages,
  { tools = {}, ...asking }: Asking & { run: string; tools?: Record<string, Tool> },
): Promise<Answers | undefined> {
  const waiting = waitingIn(messages, tools);
  if (!waiting.length) return undefined;
  // With sorted keys, the question is found again in messages that were in a database.
  const calls = copied(waiting.map(toCall), true);
  for (const [index, { gate }] of waiting.entries()) calls[index]!.schema = await schemaOf(gate?.inputSchema);
  const names = (turn: Waiting[]) => turn.map(({ request, call }) => `${request.approvalId} ${call.toolName}`).join("\n");
  const before = names(waiting);
  const id = await digestOf(waiting.map(({ request }) => request.approvalId).join("\n"));
  // To the AI SDK, an answer in place of the tool is a denial.
  const decided = await approvals.askAs(id, calls, { onExpiry: "reject", ...asking }, ["answer_as_rejection"]);
  const now = waitingIn(messages, tools);
  if (names(now) !== before || !now.every(({ call }, index) => isSame(call.input, calls[index]!.args))) {
    throw new ConflictError("messages: the calls changed while people decided, so none was approved");
  }
  const reasons = await Promise.all(decided.map((call, index) => refusal(call, waiting[index]!)));
  for (const [index, { request, gate }] of waiting.entries()) {
    const kept = { approvals, call: decided[index]!, asked: calls[index]!.args };
    if (gate && reasons[index] === undefined) decisions.set(request.approvalId, kept);
  }
  return { role: "tool", content: waiting.map((each, index) => toResponse(each, decided[index]!, reasons[index])) };
}

/** Collect the requests of the last turn, each with the call that the AI SDK would run for it. */
function waitingIn(messages: Messages, tools: Record<string, Tool>): Waiting[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const after = messages.slice(last + 1);
  const answered = new Set(partsOf(after).map(({ type, approvalId }) => type === "tool-approval-response" && approvalId));
  const calls = new Map(partsOf(messages).filter(({ type }) => type === "tool-call").map((part) => [part.toolCallId, part]));
  const requests = partsOf(messages.slice(last, last + 1)).filter(
    ({ type, isAutomatic }) => type === "tool-approval-request" && !isAutomatic,
  );
  const open = requests.filter(({ approvalId }) => !answered.has(approvalId));
  if (open.length && (open.length < requests.length || after.some(({ role }) => role !== "tool"))) {
    throw new InvalidRequestError("messages: a paused turn comes last, and is answered as a whole here; nobody was asked");
  }
  return open.map((request) => {
    const call = calls.get(request.toolCallId);
    if (!call) throw new InvalidRequestError(`messages: there is no call for ${request.approvalId}; nobody was asked`);
    return { request, call, gate: call.providerExecuted ? undefined : gateOf(tools, call) };
  });
}

function toCall({ request, call, gate }: Waiting): Call {
  const allowed = gate ? "approve edit reject respond" : "approve reject respond";
  return { name: call.toolName, args: call.input, why: request.reason, allowed };
}

/** Say why a call does not run; nothing when it does. */
async function refusal({ tool, decision, record }: DecidedCall, { gate }: Waiting): Promise<string | undefined> {
  if (decision.type === "approve") return undefined;
  if (decision.type === "respond") return decision.message;
  if (decision.type === "edit") {
    if (!gate) throw new DecisionNotAllowedError(`${tool} is not gated, so the AI SDK would run it without the edit`);
    const problem = await misfit(gate.inputSchema, decision.editedAction.args).catch(String);
    return problem && `A person changed this call of ${tool}, and it was not executed: this does not fit the tool: ${problem}`;
  }
  if (record.decidedBy === "expired") return `This call of ${tool} was not executed. ${decision.message}`;
  const said = `A person rejected this call of ${tool}, and it was not executed.`;
  return decision.message ? `${said} Their reason: ${decision.message}` : `${said} Do not repeat it unless asked to.`;
}

function toResponse({ request, call }: Waiting, { decision }: DecidedCall, refused?: string): Answers["content"][0] {
  const reason = refused ?? (decision.type === "edit" ? editNote(decision.editedAction.args) : undefined);
  const said = reason === undefined ? {} : { reason };
  const from = call.providerExecuted ? { providerExecuted: true } : {};
  return { type: "tool-approval-response", approvalId: request.approvalId, approved: refused === undefined, ...said, ...from };
}
