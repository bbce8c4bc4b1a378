/** What is shown is the same JSON as what runs. */

import assert from "node:assert/strict";
import test from "node:test";
import { InvalidRequestError } from "assent";
import { copyOf, isSame, readExactly } from "../dist/json.js";

class Money {
  cents = 5;
}

test("JSON is copied as it is, and a property without a value is not there", () => {
  const value = { b: [1, -0.5, "x", null, true], a: { deep: [{}] }, "__proto__x": 1, none: undefined };
  const copy = copyOf(value, "args");
  const { none, ...present } = value;
  assert.deepEqual(copy, present);
  assert.notEqual(copy.a.deep, value.a.deep);
  assert.equal(JSON.stringify(copyOf({ zero: -0 }, "args")), '{"zero":0}');
  assert.deepEqual(Object.keys(copyOf(JSON.parse('{"__proto__": 1}'), "args")), ["__proto__"]);
});

test("what JSON would change is refused, with its place and the cure", () => {
  const cyclic = {};
  cyclic.self = cyclic;
  const refused = {
    NaN: "args.it: NaN is not a JSON number; send null or a string",
    "-Infinity": "args.it: -Infinity is not a JSON number; send null or a string",
    "2 ** 53": "args.it: JavaScript is not exact for integers beyond 2^53-1; send it as a string",
    "10n": "args.it: bigint is not a JSON value; send a string, a number or null",
    "[1, undefined]": "args.it[1]: undefined is not a JSON value; send a string, a number or null",
    "() => 1": "args.it: function is not a JSON value; send a string, a number or null",
    "new Date(0)": "args.it: Date is not a JSON value; send a string or a plain object",
    "new Map([[1, 2]])": "args.it: Map is not a JSON value; send a string or a plain object",
    "new Money()": "args.it: Money is not a JSON value; send a string or a plain object",
    "{ toJSON: () => 1 }": "args.it.toJSON: function is not a JSON value; send a string, a number or null",
  };
  for (const [code, message] of Object.entries(refused)) {
    const it = new Function("Money", `return (${code});`)(Money);
    assert.throws(() => copyOf({ it }, "args"), { name: "InvalidRequestError", message });
  }
  assert.throws(() => copyOf(cyclic, "args"), InvalidRequestError);
});

test("values are the same in any order of their keys, and in no other order", () => {
  assert.ok(isSame({ a: 1, b: { d: 1, c: 2 } }, { b: { c: 2, d: 1 }, a: 1 }));
  assert.ok(!isSame({ a: [1, 2] }, { a: [2, 1] }));
  assert.ok(!isSame({ a: 1 }, { a: "1" }));
});

test("a number whose digits JavaScript would lose is refused", () => {
  const text = '{"a": [1.50, -0, 1E2, 9007199254740991, 0.1], "b": "9007199254740993 \\" 1.2345678901234567890"}';
  assert.deepEqual(readExactly(text), JSON.parse(text));
  for (const number of ["9007199254740993", "0.12345678901234567890", "1e400"]) {
    assert.throws(() => readExactly(`{"a": ${number}}`), { name: "DecisionNotAllowedError", message: new RegExp(number) });
  }
});
