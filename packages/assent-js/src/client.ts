/** The client: ask people in Slack, wait for them, and use each answer once. */

import { type Call, copied, DecidedCall, toRequest } from "./calls.js";
import * as errors from "./errors.js";
import { Http, snake, type State } from "./http.js";
import { copyOf, digestOf } from "./json.js";

/** Seconds of one long poll, of a claim that is not renewed, and in which the bot has to take what may be lost. */
const POLL = 50;
const LEASE = 30;
const PATIENCE = 10;

/** Where, for whom and how long to ask. */
export interface Asking {
  /** A Slack channel id. Without one, the bot's settings decide. */
  channel?: string;
  threadTs?: string;
  /** The Slack id of the person for whom the agent acts. */
  requestedBy?: string;
  /** Shown on the card. */
  context?: { title?: string; links?: { label: string; url: string }[]; subagent?: string; traceparent?: string };
  /** Seconds, from 1 to 604800; by default an hour. */
  expiresIn?: number;
  /** What an open call becomes at the deadline: `raise` throws an `InterruptExpiredError`. */
  onExpiry?: "reject" | "raise" | "approve";
  /** Ends the wait. A question without a `run` is then withdrawn, because nobody can find it again. */
  signal?: AbortSignal;
  /** The id of the run, such as a thread id. In one run, the same question is asked and answered once, from any process. */
  run?: string;
}

/** A pause of a framework: its id, and what it asks. */
export interface Pause {
  id?: string;
  value?: unknown;
}

/** Asks people for approval through the bot's HTTP API. */
export class Assent {
  readonly #http: Http;

  /** @param bot Its address, and the key that `python -m bot keys create` printed. */
  constructor(bot: { url: string; key: string }) {
    const isAddress = URL.canParse(bot.url) && /^https?:\/\/[^/@]+(\/|$)/.test(bot.url);
    if (!isAddress || !bot.key || /[^!-~]/.test(bot.key)) {
      const cure = "url starts with http:// or https:// and has no password in it, key is as it was printed";
      throw new errors.InvalidRequestError(`new Assent({ url, key }): ${cure}`);
    }
    this.#http = new Http(bot.url.replace(/\/+$/, ""), bot.key);
  }

  /**
   * Ask about one call, and wait. Run the call with the `args` of what this gives:
   *
   *     const call = await approvals.ask("delete_file", { path });
   *     await unlink(call.args.path);
   *
   * The answer is used up when this returns: a process that dies after that does not run the call.
   *
   * @throws InterruptEndedError when nobody decided in time, or it was refused or withdrawn.
   * @throws ConsumedError when this run had the answer already.
   * @throws InvalidRequestError when this cannot be asked; the message names the place.
   */
  async ask<Args extends object>(
    tool: string,
    args: Args,
    { why, allowed, schema, ...asking }: Asking & Omit<Call, "name" | "args"> = {},
  ): Promise<DecidedCall<Args>> {
    const [call] = await this.askAll([{ name: tool, args, why, allowed, schema }], asking);
    return call as DecidedCall<Args>;
  }

  /** Ask about several calls on one card, and wait until all are decided. Gives them in their order. */
  async askAll(calls: readonly Call[], asking: Asking = {}): Promise<DecidedCall[]> {
    const copies = copied(calls, asking.run !== undefined);
    const id = await digestOf(JSON.stringify(copies.map(({ name, args }) => [name, args])));
    return await this.askAs(id, copies, asking);
  }

  /** @internal Ask about copied calls under this name. */
  async askAs(id: string, calls: readonly Call[], asking: Asking, effects: string[] = []): Promise<DecidedCall[]> {
    const pause = { id, value: toRequest(calls, effects) };
    return await this.reviewing([pause], { onExpiry: "raise", ...asking }, ([state]) =>
      calls.map((call, index) => new DecidedCall(call, state!, index)),
    );
  }

  /**
   * Ask about the pauses of a run, and wait. Then `body` resumes the run with the answers, and the cards say that it went on.
   * No other process gets the answers meanwhile. If `body` throws, they can be used again.
   *
   * @param asking With the `dialect` of the pauses, where their keys do not say it.
   * @throws InterruptEndedError when one of them ended without an answer: then nothing may be resumed.
   * @throws ConsumedError when the run was already resumed.
   * @throws ClaimedError when another process is resuming it.
   */
  async reviewing<T>(
    pauses: readonly Pause[],
    { signal, requestedBy, context, run, ...asking }: Asking & { dialect?: string },
    body: (states: State[]) => T | Promise<T>,
  ): Promise<T> {
    if (!pauses.length) throw new errors.InvalidRequestError("pauses: there is none, so nobody was asked");
    signal?.throwIfAborted();
    const about = snake({ ...context, ...(requestedBy === undefined ? {} : { requestedBy }) });
    const common = copyOf({ ...snake(asking), context: about, run: run ?? crypto.randomUUID() }, "asking") as object;
    const stop = new AbortController();
    const ends = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    try {
      const withdrawsOn = run === undefined ? signal : undefined;
      const ask = ({ id, value }: Pause) => this.#answered({ ...common, pause: id, payload: value }, ends, withdrawsOn);
      return await this.#held(await Promise.all(pauses.map(ask)), body, ends, stop.signal);
    } finally {
      stop.abort();
    }
  }

  /** Say what became of a call that ran, by its `key`: its card shows it. A report that is lost stops nothing. */
  async report(key: string, status: "done" | "failed", text: string): Promise<void> {
    const [id, index] = key.split(":");
    // The bot keeps 2,000 characters, and refuses more. An emoji is one of them, and two in JavaScript.
    const kept = [...text.slice(0, 4000)].slice(0, 2000).join("");
    await this.#try("POST", `/interrupts/${id}/outcome`, { index: Number(index), status, text: kept });
  }

  /** Ask, and wait for the answer. */
  async #answered(body: object, ends: AbortSignal, withdrawsOn?: AbortSignal): Promise<State> {
    const ask = (): Promise<State> => this.#http.send("POST", "/interrupts", body, ends);
    let state: State | undefined;
    try {
      state = await ask();
      while (state.status === "pending") {
        const path: string = `/interrupts/${state.id}?wait=${POLL}`;
        state = await this.#http.send("GET", path, undefined, ends).catch((error: unknown) => {
          // Redis came back empty. This process still has the question.
          if (error instanceof errors.UnknownInterruptError) return ask();
          throw error;
        });
      }
    } catch (error) {
      const reason = encodeURIComponent("The call that asked was cancelled.");
      // The bot may have got a request that was cut off: the same request finds the question that it made.
      const asked = withdrawsOn?.aborted ? (state ?? (await this.#try("POST", "/interrupts", body))) : undefined;
      if (asked) await this.#try("DELETE", `/interrupts/${asked.id}?reason=${reason}`);
      throw error;
    }
    if (state.resume !== null) return state;
    const said = `${state.id} ${state.status}: ${state.reason ?? "nobody decided"}`;
    if (state.status === "refused") throw new errors.InterruptRefusedError(said, state.code ?? "refused");
    throw new (state.status === "withdrawn" ? errors.InterruptWithdrawnError : errors.InterruptExpiredError)(said);
  }

  /** Hold the right to use these answers while the body runs. When it has begun, the end of the wait changes nothing. */
  async #held<T>(states: State[], body: (states: State[]) => T | Promise<T>, ends: AbortSignal, stop: AbortSignal) {
    const claim = crypto.randomUUID();
    const send = (verb: string, until: AbortSignal, more: object = {}) =>
      Promise.all(states.map(({ id }) => this.#http.send("POST", `/interrupts/${id}/${verb}`, { claim, ...more }, until)));
    // An answer that comes late says who had the claim then.
    const hold = async (until: AbortSignal): Promise<void> => {
      const sent = Date.now();
      await send("claim", until, { seconds: LEASE });
      if (Date.now() - sent > (LEASE * 1000) / 3) await hold(until);
    };
    // A renewal that fails says nothing: `resumed` finds out who has the claim.
    const renewal = setInterval(() => void hold(stop).catch(() => undefined), (LEASE * 1000) / 3);
    let result: T;
    try {
      await hold(ends);
      result = await body(states);
    } catch (error) {
      clearInterval(renewal);
      for (const { id } of states) await this.#try("POST", `/interrupts/${id}/claim`, { claim, seconds: 0 });
      throw error;
    }
    await send("resumed", stop).finally(() => clearInterval(renewal));
    return result;
  }

  /** Send what may be lost. */
  async #try(method: string, path: string, body?: object): Promise<State | undefined> {
    return await this.#http.send(method, path, body, AbortSignal.timeout(PATIENCE * 1000)).catch(() => undefined);
  }
}
