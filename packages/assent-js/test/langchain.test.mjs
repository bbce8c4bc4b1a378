/** LangChain JS with its own scripted model. */

import assert from "node:assert/strict";
import test from "node:test";
import { Command, MemorySaver } from "@langchain/langgraph";
import { ConsumedError, InvalidRequestError } from "assent";
import { reviewing } from "assent/langchain";
import { createAgent, FakeToolCallingModel, humanInTheLoopMiddleware, tool } from "langchain";
import { z } from "zod";
import { approvals, dana } from "./people.mjs";

function office(name) {
  const ran = [];
  const schema = z.object({ to: z.string() });
  const made = (what) =>
    tool(({ to }) => `${ran.push(`${what} ${to}`)}`, { name: `${name}_${what}`, description: what, schema });
  const calls = ["mail", "call"].map((what) => ({ name: `${name}_${what}`, args: { to: "dana" }, id: what }));
  const interruptOn = { [`${name}_mail`]: true, [`${name}_call`]: true };
  const checkpointer = new MemorySaver();
  const agent = createAgent({
    model: new FakeToolCallingModel({ toolCalls: [calls, []] }),
    tools: [made("mail"), made("call")],
    middleware: [humanInTheLoopMiddleware({ interruptOn })],
    checkpointer,
  });
  const config = { configurable: { thread_id: name } };
  const resume = (answer) => agent.invoke(new Command({ resume: answer }), config);
  return { ran, agent, checkpointer, config, resume, start: () => agent.invoke({ messages: "Go." }, config) };
}

// cell("LangChain JS", "Approve: runs", "Edit: runs edited", "Respond: not offered", "Batch: one card", "Partly decided: waits")
test("a batch is asked on one card and runs as it was decided; then the cards say that it went on", async () => {
  const { ran, resume, start } = office("batch");
  const { __interrupt__: pauses } = await start();
  assert.deepEqual(pauses[0].value.reviewConfigs[0].allowedDecisions, ["approve", "edit", "reject"]);
  const running = reviewing(approvals, pauses, { run: "batch" }, resume);
  await dana("batch_mail", "edit:0", { to: "erik" });
  assert.deepEqual(ran, []);
  await dana("batch_mail", "approve:1");
  const result = await running;

  assert.deepEqual(ran, ["mail erik", "call dana"]);
  assert.equal(result.__interrupt__, undefined);
  await dana("the agent has resumed");
});

// cell("LangChain JS", "Reject: told")
test("one rejection keeps the other calls of the batch from running, and the card says so before", async () => {
  const { ran, resume, start } = office("reject");
  const { __interrupt__: pauses } = await start();
  const running = reviewing(approvals, pauses, { run: "reject" }, resume);
  assert.match(await dana("reject_mail", "approve:0"), /runs no other call of this batch either/);
  await dana("reject_mail", "reject:1", { reason: "Not now." });
  const { messages } = await running;

  assert.deepEqual(ran, []);
  assert.match(JSON.stringify(messages), /Not now\./);
});

// cell("LangChain JS", "Nobody decides: told", "Withdrawn: error")
test("silence is a rejection, and a question that is withdrawn resumes nothing", async (t) => {
  const late = office("late");
  const { __interrupt__: pauses } = await late.start();
  const { messages } = await reviewing(approvals, pauses, { run: "late", expiresIn: 1 }, late.resume);
  assert.match(JSON.stringify(messages), /Nobody decided in time/);

  const gone = office("gone_chain");
  const { __interrupt__: asked } = await gone.start();
  const { mock } = t.mock.method(globalThis, "fetch");
  const running = reviewing(approvals, asked, { run: "gone_chain" }, gone.resume);
  await dana("gone_chain_mail");
  const [url, { headers }] = mock.calls.map((call) => call.arguments).find(([each]) => each.includes("?wait="));
  await fetch(url.replace(/\?.*/, ""), { method: "DELETE", headers });
  await assert.rejects(running, { name: "InterruptWithdrawnError" });
  assert.deepEqual([...late.ran, ...gone.ran], []);
});

// cell("LangChain JS", "Changed: **runs**")
test("LangChain JS runs what its checkpointer has, also when somebody has changed that", async () => {
  const { ran, checkpointer, resume, start } = office("moved");
  const { __interrupt__: pauses } = await start();
  for (const entry of Object.values(checkpointer.storage.moved[""])) {
    entry[0] = new TextEncoder().encode(new TextDecoder().decode(entry[0]).replaceAll('"to":"dana"', '"to":"erik"'));
  }
  const running = reviewing(approvals, pauses, { run: "moved" }, resume);
  await dana("moved_mail", "approve:0");
  await dana("moved_mail", "approve:1");
  await running;

  assert.deepEqual(ran, ["mail erik", "call erik"]);
});

test("a pause with arguments that JSON would change is asked about by nobody", async () => {
  for (const when of [new Date(0), Infinity]) {
    const value = { actionRequests: [{ name: "mail", args: { when } }], reviewConfigs: [] };
    const asking = reviewing(approvals, [{ id: "1", value }], { run: "changed" }, () => assert.fail());
    const where = /^pauses\[0\]\.value\.actionRequests\[0\]\.args\.when: /;
    await assert.rejects(asking, (error) => error instanceof InvalidRequestError && where.test(error.message));
  }
});

// cell("LangChain JS", "Process ended: found again", "Resumed twice: refused")
test("a run that failed or was started again finds its question, and is resumed once", async () => {
  const { ran, agent, config, resume, start } = office("again");
  const { __interrupt__: pauses } = await start();
  const failing = () => {
    throw new Error("out of memory");
  };
  const failed = assert.rejects(reviewing(approvals, pauses, { run: "again" }, failing), /out of memory/);
  await dana("again_mail", "approve:0");
  await dana("again_mail", "approve:1");
  await failed;

  const state = await agent.graph.getState(config);
  const stored = state.tasks.flatMap((task) => task.interrupts);
  await reviewing(approvals, stored, { run: "again" }, resume);
  assert.deepEqual(ran, ["mail dana", "call dana"]);
  await assert.rejects(reviewing(approvals, pauses, { run: "again" }, resume), ConsumedError);
});

test("a wait that ends while the run goes on ends neither its claim nor what the cards say", async (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { mock } = t.mock.method(globalThis, "fetch");
  const { ran, resume, start } = office("long");
  const { __interrupt__: pauses } = await start();
  const wait = new AbortController();
  const running = reviewing(approvals, pauses, { run: "long", signal: wait.signal }, async (answer) => {
    wait.abort();
    t.mock.timers.tick(10_000);
    assert.match(mock.calls.at(-1).arguments[0], /\/claim$/);
    assert.equal((await mock.calls.at(-1).result).status, 200);
    return await resume(answer);
  });
  await dana("long_mail", "approve:0");
  await dana("long_mail", "approve:1");
  await running;

  assert.deepEqual(ran, ["mail dana", "call dana"]);
  await dana("the agent has resumed");
  await assert.rejects(reviewing(approvals, pauses, { run: "long" }, resume), ConsumedError);
});
