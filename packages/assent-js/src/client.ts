/** The client: ask people in Slack, wait for them, and use each answer once. */

import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

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

/** Resumes a run with the answers. The signal is aborted when another process does. */
export type Body<T> = (states: State[], lost: AbortSignal) => T | Promise<T>;

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
   * No other process gets the answers meanwhile. If `body` throws, they can be used again. Where the bot cannot be reached for half
   * a minute, another process may take over: then this throws, and the signal that `body` got is aborted.
   *
   * @param asking With the `dialect` of the pauses, where their keys do not say it.
   * @throws InterruptEndedError when one of them ended without an answer: then nothing may be resumed.
   * @throws ConsumedError when the run was already resumed.
   * @throws ClaimedError when another process is resuming it.
   * @throws ConflictError when Redis went back after the claim, and people decided otherwise.
   */
  async reviewing<T>(
    pauses: readonly Pause[],
    { signal, requestedBy, context, run, ...asking }: Asking & { dialect?: string },
    body: Body<T>,
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
      for (;;) {
        const [claim, asked] = [crypto.randomUUID(), await Promise.all(pauses.map(ask))];
        const states = await this.#claimed(claim, asked, ends);
        if (states) return await this.#resumed(claim, states, body, stop.signal);
        await sleep(1000, undefined, { signal: ends });
      }
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
    return used(state);
  }

  /** Take the right to use these answers, and give them as they are then; nothing where people are asked again. */
  async #claimed(claim: string, asked: State[], ends: AbortSignal): Promise<State[] | undefined> {
    try {
      for (;;) {
        const sent = Date.now();
        const states = (await this.#send("claim", asked, { claim, seconds: LEASE }, ends)).map(used);
        // An answer that comes late says who had the right then.
        if (Date.now() - sent < (LEASE * 1000) / 2) return states;
      }
    } catch (error) {
      await this.#giveBack(claim, asked);
      // Redis went back behind the decision, or came back empty.
      if (error instanceof errors.NotDecidedError || error instanceof errors.UnknownInterruptError) return undefined;
      throw error;
    }
  }

  /** Run the body with these answers while the right to use them lasts. When it has begun, the end of the wait changes nothing. */
  async #resumed<T>(claim: string, states: State[], body: Body<T>, stop: AbortSignal): Promise<T> {
    const [lost, over] = [new AbortController(), new AbortController()];
    const renewal = this.#renewed(claim, states, AbortSignal.any([stop, over.signal]));
    renewal.catch((error: unknown) => over.signal.aborted || lost.abort(error));
    try {
      const result = await Promise.race([body(states, lost.signal), renewal]);
      const now = await this.#send("resumed", states, { claim }, stop);
      if (now.every(({ decisions }, index) => isDeepStrictEqual(decisions, states[index]!.decisions))) return result;
      throw new errors.ConflictError(`${states[0]!.id}: Redis went back, and people have decided otherwise since`);
    } catch (error) {
      over.abort();
      await this.#giveBack(claim, states);
      throw error;
    } finally {
      over.abort();
    }
  }

  /** Renew the right until it is over. Throws once another process has it. */
  async #renewed(claim: string, states: State[], over: AbortSignal): Promise<never> {
    for (;;) {
      await sleep((LEASE * 1000) / 3, undefined, { signal: over });
      await this.#send("claim", states, { claim, seconds: LEASE }, over).catch((error: unknown) => {
        // Other errors say nothing of that: `resumed` finds out.
        if (error instanceof errors.ClaimedError || error instanceof errors.ConsumedError) throw error;
      });
    }
  }

  async #giveBack(claim: string, states: State[]): Promise<void> {
    await Promise.all(states.map(({ id }) => this.#try("POST", `/interrupts/${id}/claim`, { claim, seconds: 0 })));
  }

  /** Send one thing about each of these questions. */
  async #send(verb: string, states: State[], body: object, signal: AbortSignal): Promise<State[]> {
    const answers = [];
    for (const { id } of states) answers.push(await this.#http.send("POST", `/interrupts/${id}/${verb}`, body, signal));
    return answers;
  }

  /** Send what may be lost. */
  async #try(method: string, path: string, body?: object): Promise<State | undefined> {
    return await this.#http.send(method, path, body, AbortSignal.timeout(PATIENCE * 1000)).catch(() => undefined);
  }
}

/** Give a question that was answered. Throws where it ended otherwise. */
function used(state: State): State {
  if (state.resume !== null) return state;
  const said = `${state.id} ${state.status}: ${state.reason ?? "nobody decided"}`;
  if (state.status === "refused") throw new errors.InterruptRefusedError(said, state.code ?? "refused");
  throw new (state.status === "withdrawn" ? errors.InterruptWithdrawnError : errors.InterruptExpiredError)(said);
}
