/** The schemas of AI SDK tools, of whichever library. */

import { isSame } from "./json.js";

type Schema = any;

/** Give the JSON Schema of a tool's input, for the form of an edit; nothing where its library has none. */
export async function schemaOf(inputSchema: Schema): Promise<object | undefined> {
  const schema = made(inputSchema);
  try {
    return (await schema.jsonSchema) ?? schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  } catch {
    return undefined;
  }
}

/** Say why a tool does not take these arguments as they are; nothing when it does. */
export async function misfit(inputSchema: Schema, args: object): Promise<string | undefined> {
  const schema = made(inputSchema);
  const read = await (schema["~standard"] ?? schema).validate?.(structuredClone(args));
  if (!read) return undefined;
  if (read.issues) return read.issues[0].message;
  if (read.success === false) return read.error.message;
  return isSame(read.value, args) ? undefined : "its schema reads them as something else";
}

function made(schema: Schema): Schema {
  return typeof schema === "function" && !("~standard" in schema) ? schema() : schema;
}
