/** Arguments as JSON: what people see is the same value as what runs. */

import { DecisionNotAllowedError, InvalidRequestError } from "./errors.js";

const MAX_DEPTH = 32;

/**
 * Copy a value, or refuse it: what JSON would change must not be shown as one thing and run as another. With `sorts`, equal
 * values have equal text, also after a database has moved their keys.
 */
export function copyOf(value: unknown, where: string, sorts = false, depth = 0): unknown {
  const problem = depth > MAX_DEPTH ? `nested deeper than ${MAX_DEPTH} levels; send the inner part as a string` : why(value);
  if (problem) throw new InvalidRequestError(`${where}: ${problem}`);
  const inner = (each: unknown, path: string): unknown => copyOf(each, `${where}${path}`, sorts, depth + 1);
  if (Array.isArray(value)) return Array.from(value, (each, index) => inner(each, `[${index}]`));
  if (value === null || typeof value !== "object") return Object.is(value, -0) ? 0 : value;
  // To JSON, a property without a value is not there.
  const present = Object.entries(value).filter(([, each]) => each !== undefined);
  if (sorts) present.sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(present.map(([key, each]) => [key, inner(each, `.${key.slice(0, 40)}`)]));
}

/** Say what is wrong with one value; nothing when JSON has it. */
function why(value: unknown): string | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string" || Array.isArray(value)) return undefined;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return `${value} is not a JSON number; send null or a string`;
    if (Number.isSafeInteger(value) || !Number.isInteger(value)) return undefined;
    return "JavaScript is not exact for integers beyond 2^53-1; send it as a string";
  }
  if (typeof value !== "object") return `${typeof value} is not a JSON value; send a string, a number or null`;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm, such as a test runner's, has another Object.prototype.
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return undefined;
  return `${value.constructor?.name} is not a JSON value; send a string or a plain object`;
}

/** Whether two values are the same as JSON, in any order of their keys. */
export function isSame(left: unknown, right: unknown): boolean {
  return JSON.stringify(copyOf(left, "args", true)) === JSON.stringify(copyOf(right, "args", true));
}

/** Give a text a short name. Equal texts have equal names. */
export async function digestOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(bytes.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Read JSON, and refuse a number whose digits JavaScript would lose: nobody decided about the number that is left. */
export function readExactly(text: string): unknown {
  const numbers = text.replace(/"(?:[^"\\]+|\\.)*"/g, "").match(/-?\d[\d.eE+-]*/g) ?? [];
  const lost = numbers.find((number) => decimal(number) !== decimal(String(Number(number))));
  if (lost === undefined) return JSON.parse(text);
  throw new DecisionNotAllowedError(`JavaScript does not keep all digits of ${lost.slice(0, 40)}; ask for a string there`);
}

/** Write a number in one form: `1.50`, `15e-1` and `1.5` are equal. */
function decimal(text: string): string {
  const [, sign, whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short && `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}
