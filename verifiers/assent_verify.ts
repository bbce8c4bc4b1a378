/**
 * Check the receipt of an approved call, with nothing of Assent installed: one file, and Node's own crypto.
 *
 *     node assent_verify.ts --ring ring.json --receipt receipt.json --audience billing --tool pay --args args.json
 *
 * Node 22.18 and newer run it as it is; for older ones, `tsc` makes JavaScript of it. It prints one sentence. Exit code 0:
 * people approved exactly these arguments for this tool. 1: not proven. 2: wrong usage.
 *
 * As a module: `verify(ring, receipt, { audience, tool, args })`. Both are texts, and `args` are the bytes that the tool
 * runs with: parse these bytes, never your own copy. What this file does not do is remember: take `proof.id` once in a store
 * of your own before the tool runs.
 */

import { createHash, createPublicKey, verify as verifySignature, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const TYPE = "application/vnd.assent.receipt.v1+json";
const MOST_RECEIPT = 1024 * 1024;
const MOST_ENVELOPE = 256 * 1024;
const MOST_ENVELOPES = 64;
const MOST_SIGNATURES = 8;
const DAY = 24 * 60 * 60 * 1000;
const TOLERANCE = 30 * 1000;
const LAST = 253_402_300_799_999;
const DEEPEST = 96;
const KEY_FIELDS = ["kid", "public", "purpose", "namespace", "team", "agent", "not_before", "not_after", "revoked"];
const TEXTS = ["kid", "ns", "team", "rec", "run", "aud", "body", "policy"];
const NUMBERS = ["at", "deadline", "use_by"];
const STATEMENT_FIELDS = [...TEXTS, ...NUMBERS, "v", "requester", "message", "silence", "actions"];
const ACTION_TEXTS = ["pause", "tool", "asked", "stored", "kind", "position", "by", "how"];
const ACTION_FIELDS = [...ACTION_TEXTS, "i", "quorum", "runs", "rule", "counts"];
const KINDS = ["approve", "edit", "reject", "respond"];
const NAMESPACE = /^[A-Za-z0-9_.:-]{1,64}$/;
const OWNERS: Record<string, string> = { receipts: "team", agent: "agent", log: "" };
const P = 2n ** 255n - 19n;
const Y8 = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, P - 1n, Y8, P - Y8];

type Fields = Record<string, any>;

/** What a receipt proves. Times are in milliseconds. */
export interface Proof {
  /** Take it once in a store of your own. */
  id: string;
  people: string[];
  kind: "approve" | "edit";
  how: string;
  at: number;
  use_by: number;
  /** The name of the key that signed the decision. */
  key: string;
}

/** What the receipt is compared with. */
export interface Expected {
  /** The name of the agent. */
  audience: string;
  tool: string;
  /** The arguments, in exactly the bytes that run. */
  args: Uint8Array;
  namespace?: string;
  /** How many people must have agreed, even where the policy asks for fewer. With 1 or more, silence does not approve. */
  min_people?: number;
  /** The id of the run, if you know it. */
  run?: string;
  /** The time of the check; by default, now. */
  now?: number;
}

interface Key extends Fields {
  verifier: KeyObject;
  from: number;
  until: number;
}

interface Opened {
  statement: Fields;
  digest: string;
}

/** The receipt does not prove that this call may run. With the code `ring`, the file of public keys is wrong. */
export class Refused extends Error {
  code: string;

  constructor(code: string, sentence: string) {
    super(sentence);
    this.code = code;
  }
}

/** Check a receipt, and return what it proves; throws `Refused` when a check fails. */
export function verify(ring: string, receipt: string, expected: Expected): Proof {
  const { audience, tool, args, namespace = "assent", min_people = 0, run, now = Date.now() } = expected;
  // Comparisons with NaN are false, and would let a call run.
  if (!Number.isInteger(min_people) || !Number.isFinite(now)) throw new TypeError("min_people and now are whole numbers");
  const keys = readRing(ring);
  const { envelopes, index, carried } = readReceipt(receipt);
  const opened = envelopes.map((each) => openStatement(each, keys, namespace));
  const last = opened[opened.length - 1]!.statement;
  for (const { statement } of opened) {
    if (statement.aud !== audience) throw new Refused("audience", `it is for the agent ${statement.aud}, not for ${audience}`);
    if (run !== undefined && statement.run !== digestOfRun(run)) throw new Refused("run", "it belongs to another run");
    if (now - TOLERANCE >= statement.use_by) throw new Refused("expired", `it could be used until ${written(statement.use_by)}`);
    if (statement.rec !== last.rec) throw new Refused("record", "it mixes statements of two records");
  }
  const votes = opened.map(({ statement }) => voteOn(statement, index));
  const decided = votes[votes.length - 1]!;
  if (decided.tool !== tool) throw new Refused("tool", `it is for the tool ${decided.tool}, not for ${tool}`);
  const people = peopleWhoAgreed(opened, votes, min_people);
  for (const given of [Buffer.from(carried), args]) {
    if (sha256(given) !== decided.runs) throw new Refused("arguments", "these arguments are not those that were approved");
  }
  return {
    id: `${last.rec}:${index}`,
    people,
    kind: decided.kind,
    how: decided.how,
    at: last.at,
    use_by: Math.min(...opened.map(({ statement }) => statement.use_by)),
    key: last.kid,
  };
}

function readRing(text: string): Map<string, Key> {
  try {
    const ring = parse(text);
    if (!isObject(ring) || !hasOnly(ring, ["version", "keys"]) || ring.version !== 1) throw new Error("it is not a ring of version 1");
    const listed = (ring.keys as Fields[]).map(readKey);
    const keys = new Map(listed.map((each) => [each.kid as string, each]));
    if (keys.size !== listed.length) throw new Error("a key is listed twice");
    return keys;
  } catch (error) {
    throw new Refused("ring", `the file of public keys cannot be read: ${(error as Error).message}`);
  }
}

function readKey(fields: Fields): Key {
  if (!isObject(fields) || !hasOnly(fields, KEY_FIELDS)) throw new Error("a key has a field that is not known");
  const raw = decode(fields.public);
  const y = BigInt(`0x${Buffer.from(raw).reverse().toString("hex") || "0"}`) & (2n ** 255n - 1n);
  if (raw.length !== 32 || y >= P || SMALL_ORDER.includes(y)) throw new Error("a public key is not one that can be trusted");
  if (sha256(raw).slice(0, 16) !== fields.kid) throw new Error("a key has a name that is not its own");
  if (!isNamed(fields.namespace, NAMESPACE) || typeof (fields.revoked ?? false) !== "boolean" || fields.revoked === null) {
    throw new Error("`namespace` is a name, and `revoked` is true or false");
  }
  if (!Object.hasOwn(OWNERS, text(fields.purpose))) throw new Error("a key has a purpose that is not known");
  for (const [name, form] of [["team", /^[TE][A-Z0-9]+$/], ["agent", /^[a-z0-9-]{1,40}$/]] as const) {
    const found = fields[name] ?? null;
    if ((found !== null) !== (OWNERS[fields.purpose] === name) || (found !== null && !isNamed(found, form))) {
      throw new Error("a key for receipts has a `team`, one of an agent has its `agent`, no other has one");
    }
  }
  const [from, until] = [milliseconds(fields.not_before, 0), milliseconds(fields.not_after, Infinity)];
  if (from > until) throw new Error("`not_before` is later than `not_after`");
  const jwk = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  return {
    ...fields,
    verifier: createPublicKey({ key: jwk, format: "jwk" }),
    from,
    until,
  };
}

function readReceipt(text: string): { envelopes: unknown[]; index: number; carried: string } {
  if (text.length > MOST_RECEIPT) throw new Refused("size", "it is too large");
  const fields = tried("form", "it is not a receipt", () => parse(text));
  if (isObject(fields) && Number.isSafeInteger(fields.v) && fields.v !== 1) {
    throw new Refused("version", `it has version ${fields.v}, and this file knows 1`);
  }
  const isWhole =
    isObject(fields) &&
    fields.v === 1 &&
    Array.isArray(fields.envelopes) &&
    fields.envelopes.length > 0 &&
    Number.isSafeInteger(fields.index) &&
    typeof fields.args === "string";
  if (!isWhole) throw new Refused("form", "it is not a receipt");
  if (fields.envelopes.length > MOST_ENVELOPES) throw new Refused("size", "it has too many statements");
  return { envelopes: fields.envelopes, index: fields.index, carried: fields.args };
}

/** Return a statement and its digest, if one of these keys signed it (DSSE with Ed25519). */
function openStatement(envelope: any, keys: Map<string, Key>, namespace: string): Opened {
  if (JSON.stringify(envelope).length > MOST_ENVELOPE) throw new Refused("size", "a statement is too large");
  const { kind, payload, signatures } = tried("form", "a statement is not in a signed envelope", () => ({
    kind: text(envelope.payloadType),
    payload: decode(envelope.payload),
    signatures: (envelope.signatures as Fields[]).map((each) => ({ kid: text(each.keyid), bytes: decode(each.sig) })),
  }));
  const isOfEach = new Set(signatures.map(({ kid }) => kid)).size === signatures.length;
  if (signatures.length === 0 || signatures.length > MOST_SIGNATURES || !isOfEach) {
    throw new Refused("form", "a statement is not in a signed envelope");
  }
  if (kind !== TYPE) throw new Refused("type", `something else was signed: ${kind}`);
  const name = Buffer.from(kind);
  const signed = Buffer.concat([Buffer.from(`DSSEv1 ${name.length} `), name, Buffer.from(` ${payload.length} `), payload]);
  const key = signerOf(signatures, signed, keys);
  const statement = readStatement(payload);
  checkStatement(statement, key, namespace);
  return { statement, digest: sha256(signed) };
}

function signerOf(signatures: { kid: string; bytes: Buffer }[], signed: Buffer, keys: Map<string, Key>): Key {
  const known = signatures.flatMap(({ kid, bytes }) => (keys.has(kid) ? [{ key: keys.get(kid)!, bytes }] : []));
  const fit = known.filter(({ key }) => key.purpose === "receipts");
  if (fit.length === 0) throw new Refused("key", "it is signed with a key that the ring does not have for receipts");
  const usable = fit.filter(({ key }) => !key.revoked);
  if (usable.length === 0) throw new Refused("revoked", "its key is revoked");
  const found = usable.find(({ key, bytes }) => bytes.length === 64 && verifySignature(null, signed, key.verifier, bytes));
  if (!found) throw new Refused("signature", "somebody changed what was signed");
  return found.key;
}

function readStatement(payload: Buffer): Fields {
  const wrong = "what was signed is not a statement";
  const fields = tried("form", wrong, () => parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload)));
  if (!isObject(fields) || !Number.isSafeInteger(fields.v)) throw new Refused("form", wrong);
  if (fields.v !== 1) throw new Refused("version", `a statement has version ${fields.v}, and this file knows 1`);
  const actions = fields.actions;
  const isWhole =
    hasOnly(fields, STATEMENT_FIELDS) &&
    TEXTS.every((name) => typeof fields[name] === "string") &&
    NUMBERS.every((name) => Number.isSafeInteger(fields[name]) && fields[name] >= 0 && fields[name] <= LAST) &&
    isTextOrMissing(fields.message) &&
    (fields.silence === undefined || ["reject", "raise", "approve"].includes(fields.silence)) &&
    isRequester(fields.requester) &&
    Array.isArray(actions) &&
    actions.length > 0 &&
    actions.every(isAction) &&
    new Set(actions.map((each) => each.i)).size === actions.length;
  if (!isWhole) throw new Refused("form", wrong);
  return fields;
}

function isNamed(value: unknown, form: RegExp): boolean {
  return typeof value === "string" && form.test(value);
}

function isTextOrMissing(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isRequester(fields: unknown): boolean {
  if (fields === undefined || fields === null) return true;
  return isObject(fields) && hasOnly(fields, ["user", "vouched_by"]) && typeof fields.user === "string" && isTextOrMissing(fields.vouched_by);
}

function isAction(fields: any): boolean {
  return (
    isObject(fields) &&
    hasOnly(fields, ACTION_FIELDS) &&
    ACTION_TEXTS.every((name) => typeof fields[name] === "string") &&
    Number.isSafeInteger(fields.i) &&
    Number.isSafeInteger(fields.quorum) &&
    fields.i >= 0 &&
    fields.quorum >= 1 &&
    (fields.runs === undefined || fields.runs === null || typeof fields.runs === "string") &&
    isTextOrMissing(fields.rule) &&
    (fields.counts === undefined || Array.isArray(fields.counts)) &&
    (fields.counts ?? []).every((each: unknown) => typeof each === "string") &&
    KINDS.includes(fields.kind)
  );
}

/** Compare a statement with what its key may sign. */
function checkStatement(statement: Fields, key: Key, namespace: string): void {
  const { at, deadline, use_by } = statement;
  if (statement.kid !== key.kid) throw new Refused("key", "a statement names another key than the one that signed it");
  if (statement.ns !== key.namespace) throw new Refused("namespace", "its key signs for another namespace");
  if (statement.team !== key.team) throw new Refused("team", "its key signs for another workspace");
  if (at < key.from || at > key.until) throw new Refused("key_time", `its key did not sign at ${written(at)}`);
  if (use_by < at || use_by > deadline + 30 * DAY) {
    throw new Refused("use_by", "it may be used for longer than 30 days after its deadline, or was over before");
  }
  if (deadline > at + 30 * DAY) throw new Refused("deadline", "its deadline is more than 30 days after the click");
  if (statement.ns !== namespace) throw new Refused("namespace", `it is for the namespace ${statement.ns}, not for ${namespace}`);
}

function voteOn(statement: Fields, index: number): Fields {
  const found = statement.actions.find((each: Fields) => each.i === index);
  if (!found) throw new Refused("action", `a statement says nothing about action ${index}`);
  if (!["approve", "edit"].includes(found.kind) || typeof found.runs !== "string") {
    throw new Refused("kind", `people decided ${found.kind}, so nothing may run`);
  }
  return found;
}

/** Name who agreed. The last statement counts the others; all are about the same thing. */
function peopleWhoAgreed(opened: Opened[], votes: Fields[], least: number): string[] {
  const decided = votes[votes.length - 1]!;
  const counts: string[] = decided.counts ?? [];
  votes.slice(0, -1).forEach((vote, place) => {
    const isSame = ["position", "tool", "runs"].every((name) => vote[name] === decided[name]);
    if (!counts.includes(opened[place]!.digest) || !isSame) {
      throw new Refused("people", `the last statement does not count the one of ${vote.by}`);
    }
  });
  const others = votes.map((vote) => vote.by as string).filter((by) => by !== decided.by);
  const people = [...new Set([...others, decided.by as string])];
  const needed = Math.max(least, ...votes.map((vote) => vote.quorum as number));
  if (people.length < needed) throw new Refused("people", `it names ${people.length} of ${needed} people who have to agree`);
  if (least > 0 && votes.some((vote) => vote.how.startsWith("silence:"))) {
    throw new Refused("people", "nobody decided it, and a person is needed");
  }
  return people;
}

/** Read strict JSON: no key twice. */
function parse(json: string): any {
  const value = JSON.parse(json, (_, each) => {
    if (each === Infinity || each === -Infinity) throw new Error("a number is too large");
    return each;
  });
  // It is valid JSON, so strings and brackets are all that has to be told apart.
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]/gs)) {
    const keys = open[open.length - 1];
    if (open.length > DEEPEST) throw new Error("nested too deeply");
    if (token === "{" || token === "[") open.push(token === "{" ? new Set() : null);
    else if (token === "}" || token === "]") open.pop();
    else if (token.startsWith('"') && isKey && keys) {
      const key = JSON.parse(token) as string;
      if (keys.has(key)) throw new Error("a key appears twice in one object");
      keys.add(key);
    }
    isKey = token === "{" || token === ",";
  }
  return value;
}

function tried<T>(code: string, sentence: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Refused(code, `${sentence}: ${(error as Error).message}`);
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOnly(fields: Fields, names: string[]): boolean {
  return Object.keys(fields).every((name) => names.includes(name));
}

function text(value: unknown): string {
  if (typeof value !== "string") throw new Error("not a text");
  return value;
}

function decode(value: unknown): Buffer {
  const raw = Buffer.from(text(value), "base64");
  // Node reads much as base64. The same bytes have one way to be written.
  if (raw.toString("base64") !== value) throw new Error("not base64");
  return raw;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function digestOfRun(run: string): string {
  return sha256(Buffer.from(JSON.stringify(["assent/run/v1", run])));
}

function milliseconds(value: unknown, otherwise: number): number {
  if (value === undefined || value === null) return otherwise;
  const moment = Date.parse(text(value));
  if (Number.isNaN(moment) || !/(Z|[+-]\d\d:\d\d)$/.test(text(value))) throw new Error("a time has no zone, or is not a time");
  return moment;
}

function written(at: number): string {
  return `${new Date(at).toISOString().replace("T", " ").slice(0, 19)} UTC`;
}

function bytesOf(option: string, path: string, code: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code: why, message } = error as NodeJS.ErrnoException;
    throw new Refused(code, `--${option}: ` + (why === "ENOENT" ? `there is no file ${path}` : message));
  }
}

function main(): number {
  const names = ["ring", "receipt", "audience", "tool", "args", "namespace", "min-people", "run"];
  let values: Record<string, string | undefined>;
  try {
    const options = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
    values = parseArgs({ options }).values as Record<string, string | undefined>;
    if (!/^\d+$/.test(values["min-people"] ?? "0")) throw new Error("--min-people is a whole number");
    for (const name of names.slice(0, 5)) if (values[name] === undefined) throw new Error(`--${name} is missing`);
  } catch (error) {
    console.error((error as Error).message);
    return 2;
  }
  try {
    const ring = bytesOf("ring", values.ring!, "ring").toString("utf8");
    const receipt = bytesOf("receipt", values.receipt!, "form").toString("utf8");
    const proof = verify(ring, receipt, {
      audience: values.audience!,
      tool: values.tool!,
      args: bytesOf("args", values.args!, "arguments"),
      namespace: values.namespace ?? "assent",
      min_people: Number(values["min-people"] ?? 0),
      ...(values.run === undefined ? {} : { run: values.run }),
    });
    console.log(
      `Proven: ${proof.people.join(" and ")} decided '${proof.kind}' for ${values.tool} on ${written(proof.at)}. ` +
        `${proof.id} may run once until ${written(proof.use_by)}.`,
    );
    return 0;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    console.log(`Not proven (${error.code}): ${error.message}.`);
    return 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main();
