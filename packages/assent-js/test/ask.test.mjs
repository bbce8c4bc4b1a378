/** Ask about calls of a program of one's own. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import timers from "node:timers/promises";
import * as assent from "assent";
import { approvals, bot, dana, other } from "./people.mjs";

test("an approved call has its arguments, and the card what the agent says", async () => {
  const asking = approvals.ask("delete_file", { path: "report.txt" }, { why: "It is sent by now.", requestedBy: "U0NOOR" });
  assert.match(await dana("delete_file", "approve:0"), /It is sent by now\./);

  const call = await asking;

  assert.deepEqual(call.args, { path: "report.txt" });
  assert.equal(call.decision.type, "approve");
  assert.equal(call.record.decidedBy, "U0DANA");
  await dana("the agent has resumed");
});

test("an edited call has what the person wrote", async () => {
  const schema = { type: "object", properties: { cents: { type: "integer" }, to: { type: "string" } } };
  const asking = approvals.ask("pay", { cents: 500, to: "Dana" }, { schema });
  await dana("pay", "edit:0", { cents: "400" });

  assert.deepEqual((await asking).args, { cents: 400, to: "Dana" });
});

test("a rejected call throws where its arguments are read, with the reason", async () => {
  const asking = approvals.ask("drop_table", { name: "users" });
  await dana("drop_table", "reject:0", { reason: "It is in use." });
  const call = await asking;

  assert.throws(() => call.args, (error) => {
    assert.ok(error instanceof assent.RejectedError && error instanceof assent.NotApprovedError);
    assert.equal(error.message, "drop_table was rejected and did not run: It is in use.");
    assert.deepEqual([error.name, error.tool], ["RejectedError", "drop_table"]);
    assert.deepEqual([error.reason, error.decidedBy], ["It is in use.", "U0DANA"]);
    return true;
  });
});

test("an answer in place of the tool is no approval", async () => {
  const asking = approvals.ask("look_up", { word: "Assent" }, { allowed: "approve respond" });
  await dana("look_up", "respond:0", { your_answer: "It means yes." });
  const call = await asking;

  assert.throws(() => call.args, { name: "NotApprovedError", reason: "It means yes." });
});

test("several calls are on one card, each with its decision", async () => {
  const asking = approvals.askAll([
    { name: "restart", args: { host: "a1" } },
    { name: "shut_down", args: { host: "b2" } },
  ]);
  await dana("shut_down", "reject:1", {});
  await dana("shut_down", "approve:0");
  const [restart, shutDown] = await asking;

  assert.deepEqual(restart.args, { host: "a1" });
  assert.throws(() => shutDown.args, assent.RejectedError);
});

test("what runs is what was asked, whatever happens to the arguments of the caller or of an earlier reading", async () => {
  const args = { to: { name: "dana", copies: ["erik"] }, sent: undefined };
  const asking = approvals.ask("send_copy", args);
  args.to.copies.push("mallory");
  assert.doesNotMatch(await dana("send_copy", "approve:0"), /mallory/);
  const call = await asking;
  call.args.to.name = "mallory";

  assert.deepEqual(call.args, { to: { name: "dana", copies: ["erik"] } });
});

test("in one run, the same call is one question, and its answer is used once", async () => {
  const ask = () => other().ask("renew", { domain: "example.com" }, { run: "job-1" });
  const asking = Promise.allSettled([ask(), ask()]);
  await dana("renew", "approve:0");

  const ended = await asking;

  const [ran, refused] = ended[0].status === "fulfilled" ? ended : ended.toReversed();
  assert.deepEqual(ran.value.args, { domain: "example.com" });
  assert.ok(["ClaimedError", "ConsumedError"].includes(refused.reason.name));
  await assert.rejects(ask(), assent.ConsumedError);
});

test("in one run, calls with the same arguments in another order are the same question", async () => {
  const ask = (args, signal) => approvals.ask("sort", args, { run: "job-3", signal });
  const stop = new AbortController();
  const first = ask({ low: 1, high: { x: 2, y: 3 } }, stop.signal);
  await dana("sort");
  stop.abort();
  await assert.rejects(first);
  const again = ask({ high: { y: 3, x: 2 }, low: 1 });
  await dana("sort", "approve:0");

  assert.deepEqual((await again).args, { low: 1, high: { x: 2, y: 3 } });
  await assert.rejects(ask({ low: 1, high: { x: 2, y: 3 } }), assent.ConsumedError);
});

test("of a long report the card has the beginning", async () => {
  const asking = approvals.ask("print", {});
  await dana("print", "approve:0");
  const { key } = await asking;
  await approvals.report(key, "done", `Printed: ${"\u{1F600}".repeat(3000)}`);

  await dana("Printed:");
});

test("what ends without an answer throws an error of its name", async () => {
  await assert.rejects(approvals.ask("wait", {}, { expiresIn: 1 }), assent.InterruptExpiredError);
  const refused = approvals.ask("wait", {}, { channel: "C0NOWHERE" });
  await assert.rejects(refused, { name: "InterruptRefusedError", code: "channel_not_found" });
});

test("a call that nobody waits for any more is withdrawn, unless its run can find it again", async () => {
  const stop = new AbortController();
  const asking = approvals.ask("clean_up", { days: 30 }, { signal: stop.signal });
  await dana("clean_up");
  stop.abort(new Error("enough"));

  await assert.rejects(asking, { message: "enough" });
  await dana("The call that asked was cancelled.");

  const later = new AbortController();
  const first = approvals.ask("clean_up_later", {}, { run: "job-2", signal: later.signal });
  await dana("clean_up_later");
  later.abort();
  await assert.rejects(first, { name: "AbortError" });
  const again = approvals.ask("clean_up_later", {}, { run: "job-2" });
  await dana("clean_up_later", "approve:0");
  assert.deepEqual((await again).args, {});
});

test("a call whose wait ends before the bot has answered the question is withdrawn, too, or is not asked", async (t) => {
  const stop = new AbortController();
  const real = globalThis.fetch;
  const { mock } = t.mock.method(globalThis, "fetch", async (url, given) => {
    if (!url.endsWith("/interrupts") || stop.signal.aborted) return await real(url, given);
    await real(url, { ...given, signal: undefined });
    stop.abort(new Error("enough"));
    throw given.signal.reason;
  });
  await assert.rejects(approvals.ask("clean_up_early", {}, { signal: stop.signal }), { message: "enough" });
  const last = mock.calls.at(-1);
  assert.deepEqual([last.arguments[1].method, (await last.result).ok], ["DELETE", true]);

  const before = mock.callCount();
  await assert.rejects(approvals.ask("clean_up_never", {}, { signal: stop.signal }), { message: "enough" });
  assert.equal(mock.callCount(), before);
});

test("a bot that is away, busy or restarting is asked again, and the call is asked once", async (t) => {
  t.mock.method(console, "warn", () => {});
  const faults = [
    (_, answer) => answer.destroy(),
    (_, answer) => answer.writeHead(502).end("<html>"),
    (_, answer) => answer.writeHead(429, { "Retry-After": "0.01" }).end(),
  ];
  const seen = [];
  const proxy = createServer(async (request, answer) => {
    seen.push(`${request.method} ${request.url.split(/[?/]/).filter((part) => /^[a-z]+$/.test(part)).at(-1)}`);
    if (seen.length % 2 && faults.length) return faults.shift()(request, answer);
    const sent = { method: request.method, headers: { authorization: request.headers.authorization } };
    const body = request.method === "POST" ? { body: await new Response(request).text() } : {};
    const said = await fetch(`${bot}${request.url}`, { ...sent, ...body });
    answer.writeHead(said.status).end(await said.text());
  }).listen(0);
  t.after(() => proxy.close());

  const asking = other({ url: `http://127.0.0.1:${proxy.address().port}/` }).ask("reboot", { host: "c3" });
  await dana("reboot", "approve:0");

  assert.deepEqual((await asking).args, { host: "c3" });
  assert.equal(console.warn.mock.callCount(), 3 - faults.length);
});

/** A client that gets the bot's answers as `change` gives them, and what it asks under this name. */
function between(t, name, change) {
  const proxy = createServer(async (request, answer) => {
    const sent = { method: request.method, headers: { authorization: request.headers.authorization } };
    const body = request.method === "POST" ? { body: await new Response(request).text() } : {};
    const said = await fetch(`${bot}${request.url}`, { ...sent, ...body });
    const [status, text] = change(request.url, await said.text()) ?? [409, '{"error": {"code": "consumed", "message": "gone"}}'];
    answer.writeHead(status || said.status).end(text);
  }).listen(0);
  t.after(() => proxy.close());
  const action_requests = [{ name, args: { host: "c4" } }];
  const review_configs = [{ action_name: name, allowed_decisions: ["approve", "reject"] }];
  const asking = [{ id: "p", value: { action_requests, review_configs } }];
  return [other({ url: `http://127.0.0.1:${proxy.address().port}/` }), asking];
}

test("what runs is what a claim answers in time; who is asked again is waited for, and what changes later is an error", async (t) => {
  const start = Date.now();
  const seen = [];
  const [client, asking] = between(t, "reboot_late", (url, text) => {
    // As if Redis had gone back after the answer.
    if (!url.endsWith("/claim")) return [0, text.replaceAll('"type":"approve"', '"type":"reject"')];
    if (seen.push("claim") === 1) return [409, '{"error": {"code": "pending", "message": "open"}}'];
    if (seen.length === 3) t.mock.method(Date, "now", () => start + 40_000);
    return [0, text];
  });

  const body = ([state], lost) => seen.push([state.decisions[0].type, lost]);
  const changed = assert.rejects(client.reviewing(asking, { run: "late" }, body), assent.ConflictError);
  await dana("reboot_late", "approve:0");
  await changed;

  // What is given back, after the first one and at the end, is a claim of 0 seconds.
  assert.deepEqual(seen.toSpliced(4, 1), ["claim", "claim", "claim", "claim", "claim"]);
  const [type, lost] = seen[4];
  assert.deepEqual([type, lost.aborted], ["approve", false]);
});

test("a body hears that another process has taken over, and its end is an error", async (t) => {
  let claims = 0;
  const [client, asking] = between(t, "reboot_lost", (url, text) => (url.endsWith("/claim") && ++claims > 1 ? undefined : [0, text]));
  const soon = t.mock.method(timers, "setTimeout", async () => {});
  syncBuiltinESMExports();
  t.after(() => (soon.mock.restore(), syncBuiltinESMExports()));

  const reviewing = client.reviewing(asking, { run: "lost" }, (_, lost) => once(lost, "abort"));
  const failed = assert.rejects(reviewing, assent.ConsumedError);
  await dana("reboot_lost", "approve:0");

  await failed;
});

test("an answer of something else than a bot is waited out where it may pass, and is else an error with the address", async (t) => {
  t.mock.method(console, "warn", () => {});
  const answers = [];
  const server = createServer((_, answer) => {
    const [status, body, headers] = answers.shift();
    answer.writeHead(status, headers).end(body);
  }).listen(0);
  t.after(() => server.close());
  const url = `http://127.0.0.1:${server.address().port}`;
  const passing = [[502, '{"message": "away"}'], [503, "{}"], [500, '"x"'], [502, '{"error": "away"}'], [429, "null"]];
  for (const [status, body] of passing) answers.push([status, body, { "Retry-After": "0.01" }]);
  const lasting = [[200, "<html>"], [200, "{}"], [200, "null"], [204], [301, "", { Location: "/" }], [404, '{"detail": "?"}']];
  for (const [status, body, headers] of lasting) {
    answers.push([status, body, headers]);
    const said = (error) => error instanceof assent.AssentError && error.message.includes(`no answer of a bot from ${url} (${status})`);
    await assert.rejects(other({ url }).ask("pay", {}), said);
  }
  assert.equal(answers.length, 0);
  assert.match(console.warn.mock.calls[0].arguments[0], /away/);
});

test("what can never work throws at once, with the place and the cure", async () => {
  await assert.rejects(other({ key: "ass_wrong" }).ask("pay", {}), /no valid key/);
  await assert.rejects(approvals.ask("pay", {}, { chanel: "C0" }), { name: "InvalidRequestError", message: /'?chanel'?/ });
  await assert.rejects(approvals.ask("pay", {}, { allowed: "aprove" }), assent.InvalidRequestError);
  const list = approvals.ask("pay", {}, { allowed: ["approve"] });
  await assert.rejects(list, { name: "InvalidRequestError", message: /calls\[0\]\.allowed/ });
  await assert.rejects(approvals.askAll([]), assent.InvalidRequestError);
  await assert.rejects(approvals.ask("pay", "5"), { name: "InvalidRequestError", message: /calls\[0\]\.args \(pay\)/ });
  await assert.rejects(approvals.ask("pay", {}, { context: { title: 5n } }), {
    name: "InvalidRequestError",
    message: "asking.context.title: bigint is not a JSON value; send a string, a number or null",
  });
  const cyclic = {};
  cyclic.items = cyclic;
  await assert.rejects(approvals.ask("pay", {}, { schema: cyclic }), /circular/);
  const wrong = ["ass_\u2026", "ass_a\nb", "", undefined].map((key) => ({ key }));
  wrong.push(...["localhost", "localhost:3000", "http://dana:secret@localhost", undefined].map((url) => ({ url })));
  for (const each of wrong) {
    assert.throws(() => other(each), { name: "InvalidRequestError", message: /^new Assent\(\{ url, key \}\): url starts/ });
  }
});
