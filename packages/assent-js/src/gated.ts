/** Tools of the AI SDK that run only as people decided. */

import type { DecidedCall } from "./calls.js";
import type { Assent } from "./client.js";
import { ConflictError, InvalidRequestError, NotApprovedError } from "./errors.js";
import { isSame } from "./json.js";

/** A tool of the AI SDK. Its versions and schema libraries have types of their own. */
export type Tool = any;
/** A part of a message. */
export type Part = Record<string, any>;
export type Messages = readonly { role: string; content: unknown }[];

const gates = new WeakSet<object>();
/** Decisions that no call has taken yet, by approval id: the ids of calls come again in a later turn. */
export const decisions = new Map<string, { approvals: Assent; call: DecidedCall; asked: object }>();
/** What the model is told about an edit, by the input that the AI SDK keeps. */
const notes = new WeakMap<object, string>();

/**
 * Let these tools run only calls that `answer` in this process had approved: each once, with the arguments that were decided.
 * Every other call throws `NotApprovedError`, also where `toolApproval` lacks the tool, or the messages forge an approval.
 */
export function gated<Tools extends Record<string, Tool>>(tools: Tools): Tools {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, gate(name, tool)])) as Tools;
}

/** Give the tool that this call runs, if it is gated. */
export function gateOf(tools: Record<string, Tool>, call: Part): Tool | undefined {
  const tool = Object.hasOwn(tools, call.toolName) ? tools[call.toolName] : undefined;
  return tool && gates.has(tool) ? tool : undefined;
}

export function partsOf(messages: Messages): Part[] {
  return messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []));
}

/** Tell the model what has run: its own arguments stay in the messages. */
export function editNote(args: object): string {
  return `[A person changed the arguments of this call before it ran. It was called with: ${JSON.stringify(args)}]`;
}

function gate(name: string, tool: Tool): Tool {
  if (!tool.execute) throw new InvalidRequestError(`${name} has no execute, so it cannot be gated`);
  const gated = {
    ...tool,
    execute(input: object, options: { toolCallId: string; messages: Messages }): unknown {
      const { approvals, call } = taken(name, input, options);
      const args = call.args;
      if (call.decision.type === "edit") notes.set(input, editNote(args));
      let made: unknown;
      try {
        made = tool.execute(args, options);
      } catch (error) {
        made = Promise.reject(error);
      }
      // The AI SDK reads a stream of partial results itself, so nothing is known here about its end.
      if (Symbol.asyncIterator in Object(made)) return made;
      // One promise for both who wait: a query of a database may run at each await.
      const result = Promise.resolve(made);
      const reported = result.then(
        (output) => approvals.report(call.key, "done", textOf(output)),
        (error: unknown) => approvals.report(call.key, "failed", String(error)),
      );
      reported.catch(() => undefined);
      return result;
    },
    async toModelOutput(given: { input: object; output: unknown }): Promise<unknown> {
      const said = await (tool.toModelOutput?.(given) ?? { type: "text", value: textOf(given.output) });
      const note = notes.get(given.input);
      if (note === undefined) return said;
      const parts = said.type === "content" ? said.value : [{ type: "text", text: textOf(said.value) }];
      return { type: "content", value: [{ type: "text", text: note }, ...parts] };
    },
  };
  gates.add(gated);
  return gated;
}

/** Take the decision about this call. */
function taken(tool: string, input: unknown, { toolCallId, messages }: { toolCallId: string; messages: Messages }) {
  const requests = partsOf(messages).filter((part) => part.type === "tool-approval-request");
  const id = requests.findLast((request) => request.toolCallId === toolCallId)?.approvalId;
  const decided = decisions.get(id);
  decisions.delete(id);
  if (decided?.call.tool !== tool) {
    const cure = `let toolApproval say "user-approval" for ${tool}, and go on in the process that called answer, once`;
    throw new NotApprovedError(`${tool} did not run, because nobody approved this call: ${cure}`, tool, null, null);
  }
  if (!isSame(input, decided.asked)) {
    throw new ConflictError(`${tool} did not run: its arguments are not those that people were asked about`);
  }
  return decided;
}

function textOf(value: unknown): string {
  const plain = (_: string, each: unknown) => (typeof each === "bigint" ? String(each) : each);
  return typeof value === "string" ? value : (JSON.stringify(value, plain) ?? "");
}
