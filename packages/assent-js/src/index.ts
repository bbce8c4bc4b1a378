/** A person between an AI agent's tool call and its execution, in Slack. */

export { type Call, DecidedCall, type Decision, type DecisionRecord } from "./calls.js";
export { type Asking, Assent, type Pause } from "./client.js";
export * from "./errors.js";
export type { State } from "./http.js";
