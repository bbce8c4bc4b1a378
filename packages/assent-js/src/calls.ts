/** Calls that a program asks about, and what people decided about each. */

import { DecisionNotAllowedError, InvalidRequestError, NotApprovedError, RejectedError } from "./errors.js";
import type { State } from "./http.js";
import { copyOf } from "./json.js";

/** A tool and its arguments, and what its card says and offers. */
export interface Call {
  name: string;
  args: object;
  /** What the agent says about the call: its card quotes it. */
  why?: string | undefined;
  /** What people can choose from: `approve`, `edit`, `reject`, `respond`. By default the first three. */
  allowed?: string | undefined;
  /** A JSON Schema of the arguments, for the form of an edit. */
  schema?: object | undefined;
}

export type Decision =
  | { type: "approve" }
  | { type: "edit"; editedAction: { name: string; args: object } }
  | { type: "reject"; message?: string | null }
  | { type: "respond"; message: string };

export interface DecisionRecord {
  /** A Slack id, or `expired` when nobody decided in time. */
  decidedBy: string;
  decidedAt: string;
  /** What the person wrote beside an approval. */
  note: string | null;
  /** All who agreed, where several people are asked. */
  agreedBy: string[];
}

/** Copy the arguments of the calls: what the program does with its own later changes nothing that is shown or run. */
export function copied(calls: readonly Call[], sorts = false): Call[] {
  return calls.map((call, index) => {
    const where = `calls[${index}].args (${call.name})`;
    if (typeof (call.allowed ?? "") !== "string") throw new InvalidRequestError(`calls[${index}].allowed: this is not a text`);
    const args = copyOf(call.args, where, sorts) as object;
    if (args !== Object(args) || Array.isArray(args)) {
      throw new InvalidRequestError(`${where}: this is not an object, as in { path: "report.txt" }`);
    }
    return { ...call, args };
  });
}

/** Write the question as the HTTP API takes it. */
export function toRequest(calls: readonly Call[], effects: readonly string[]): object {
  return {
    action_requests: calls.map(({ name, args, why }) => ({ name, args, description: why ?? null })),
    review_configs: calls.map(({ name, allowed = "approve edit reject", schema }) => ({
      action_name: name,
      allowed_decisions: allowed.split(/\s+/).filter(Boolean),
      args_schema: schema ?? null,
      integers: [-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
      effects,
    })),
  };
}

/** A call that people have decided about. It runs by its `args`, which throw an error if it may not. */
export class DecidedCall<Args extends object = Record<string, unknown>> {
  readonly tool: string;
  readonly decision: Decision;
  /** Who decided it, and when. */
  readonly record: DecisionRecord;
  /** The same in every attempt to run the call: for `report`, and for the service that the tool calls. */
  readonly key: string;
  readonly #asked: object;

  /** @internal */
  constructor({ name, args }: Call, { id, decisions, records }: State, index: number) {
    const [decision, record] = [decisions[index], records[index]];
    if (!decision || !record || (decision.type === "edit" && decision.editedAction.name !== name)) {
      throw new DecisionNotAllowedError(`${id}: what is stored does not decide about ${name}, so it did not run`);
    }
    [this.tool, this.decision, this.record, this.key, this.#asked] = [name, decision, record, `${id}:${index}`, args];
  }

  /**
   * The arguments that may run: as they were asked, or as a person changed them. Each reading gives a copy.
   *
   * @throws RejectedError when the call was rejected. It is a `NotApprovedError`.
   * @throws NotApprovedError when a person answered in place of the tool; `reason` has their words.
   */
  get args(): Args {
    const { decision, tool, record } = this;
    if (decision.type === "approve") return structuredClone(this.#asked) as Args;
    if (decision.type === "edit") return structuredClone(decision.editedAction.args) as Args;
    const [kind, how] = decision.type === "reject" ? [RejectedError, "rejected"] : [NotApprovedError, "answered"];
    const said = decision.message ? `: ${decision.message}` : "";
    throw new kind(`${tool} was ${how} and did not run${said}`, tool, decision.message ?? null, record.decidedBy);
  }
}
