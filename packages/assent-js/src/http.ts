/** Requests to the bot's HTTP API. Each may be repeated, so each is repeated until the bot answers. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Decision, DecisionRecord } from "./calls.js";
import { errorOf } from "./errors.js";
import { readExactly } from "./json.js";

/** Longer than a long poll, so that a connection that died is noticed. */
const TIMEOUT = 75_000;
const LONGEST_PAUSE = 15;

/** A question as it is now. */
export interface State {
  id: string;
  status: "pending" | "decided" | "expired" | "withdrawn" | "refused";
  /** The answer in the dialect of the pause; `null` where nothing may be resumed. */
  resume: unknown;
  /** By call; `null` where nobody has decided. */
  decisions: (Decision | null)[];
  records: (DecisionRecord | null)[];
  reason: string | null;
  code: string | null;
}

export class Http {
  #hasWarned = false;

  constructor(private readonly url: string, private readonly key: string) {}

  /** Send a request until the bot has answered. What it refuses throws its error. */
  async send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<State> {
    const sent = body === undefined ? null : JSON.stringify(body);
    for (let tries = 0; ; tries++) {
      const { status, text, after } = await this.#try(method, path, sent, signal);
      const read = parsed(text);
      if (status >= 200 && status < 300 && Array.isArray(read?.decisions)) {
        this.#hasWarned = false;
        const state = readExactly(text) as any;
        return { ...state, decisions: state.decisions.map(camel), records: state.records.map(camel) };
      }
      const unknown = { code: "", message: `no answer of a bot from ${this.url} (${status}): ${text.slice(0, 200)}` };
      const { code, message } = read?.error?.message ? read.error : unknown;
      if (status && status < 500 && status !== 429) throw errorOf(code, message);
      if (!this.#hasWarned) console.warn(`assent: ${this.url} is asked again: ${message}`);
      this.#hasWarned = true;
      const pause = after || Math.min(2 ** tries, LONGEST_PAUSE);
      await sleep(1000 * pause, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }

  async #try(method: string, path: string, body: string | null, signal?: AbortSignal) {
    // The timer keeps it: Node 20 forgets an AbortSignal.timeout() that only AbortSignal.any() knows.
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), TIMEOUT);
    try {
      const answer = await fetch(`${this.url}/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${this.key}` },
        body,
        signal: AbortSignal.any([limit.signal, ...(signal ? [signal] : [])]),
        redirect: "manual",
      });
      return { status: answer.status, text: await answer.text(), after: Number(answer.headers.get("Retry-After")) };
    } catch (error) {
      signal?.throwIfAborted();
      return { status: 0, text: String((error as Error).cause ?? error), after: 0 };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Read JSON; nothing where it is none, as in the page of a proxy. */
function parsed(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Name fields as JavaScript does. Arguments, and the answer for a framework, stay as they are. */
function camel(fields: object | null): object | null {
  return fields && renamed(fields, (name) => name.replace(/_./g, (found) => found.charAt(1).toUpperCase()));
}

/** Name fields as the API does. */
export function snake(fields: object): object {
  return renamed(fields, (name) => name.replace(/[A-Z]/g, (found) => `_${found.toLowerCase()}`));
}

function renamed(fields: object, rename: (name: string) => string): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [rename(name), value]));
}
