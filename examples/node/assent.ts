/** Assent over HTTP: ask about pauses, wait for people, say that the run went on. */

const server = process.env.ASSENT_URL ?? "http://localhost:3000";

/** Whose pause it is and where to ask: the fields of `POST /v1/interrupts`. */
export interface Asking {
  run: string;
  dialect?: string;
  channel?: string;
  expires_in?: number;
  context?: { requested_by?: string; title?: string };
}

export interface State {
  id: string;
  status: "pending" | "decided" | "expired" | "withdrawn" | "refused";
  /** The answer, as the framework that paused takes it. */
  resume: unknown;
  reason: string | null;
}

/** Ask about these pauses, once however often it is called, wait for people, and give what the run resumes with. */
export async function review(pauses: { id?: string; value?: unknown }[], asking: Asking) {
  const states = await Promise.all(pauses.map(({ id, value }) => decided(value, { ...asking, pause: id! })));
  // LangGraph takes the answer to one pause as it is, and those to several by the ids of the pauses.
  const byId = Object.fromEntries(pauses.map(({ id }, index) => [id, states[index]!.resume]));
  return { resume: pauses.length === 1 ? states[0]!.resume : byId, states };
}

/** Say that the run went on, which is what the cards are waiting for. */
export async function resumed(states: State[]): Promise<void> {
  await Promise.all(states.map(({ id }) => send("POST", `/interrupts/${id}/resumed`)));
}

async function decided(payload: unknown, asking: Asking & { pause: string }): Promise<State> {
  let state = await send("POST", "/interrupts", { payload, ...asking });
  while (state.status === "pending") state = await send("GET", `/interrupts/${state.id}?wait=50`);
  if (state.resume !== null) return state;
  throw new Error(`${state.id} ${state.status}, nothing may be resumed: ${state.reason ?? "nobody decided"}`);
}

async function send(method: string, path: string, body?: unknown): Promise<State> {
  for (let tries = 0; ; tries++) {
    const answer = await fetch(`${server}/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${process.env.ASSENT_KEY}` },
      body: body === undefined ? null : JSON.stringify(body),
    }).catch(() => undefined);
    if (answer?.ok) return (await answer.json()) as State;
    if (answer && answer.status < 500 && answer.status !== 429) {
      throw new Error(((await answer.json()) as { error: { message: string } }).error.message);
    }
    if (!answer && tries === 0) {
      console.error(`no bot answers at ${server}: start it, or set ASSENT_URL. I try again every second.`);
    }
    // A bot that restarts, or asks for patience: every request may be repeated.
    await new Promise((done) => setTimeout(done, 1000 * Number(answer?.headers.get("Retry-After") ?? 1)));
  }
}
