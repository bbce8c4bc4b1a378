/** The people in Slack, over the address that the test lane serves, and clients of the bot. */

import { Assent } from "assent";

const { ASSENT_URL: url, ASSENT_KEY: key, ASSENT_PEOPLE: people } = process.env;

export const approvals = new Assent({ url, key });
export const other = (changed) => new Assent({ url, key, ...changed });
export const bot = url;

/** Wait for the card that says this, press a button of it, and fill in the form that opens. Gives the words of the card. */
export async function dana(saying, button, typed) {
  const answer = await fetch(people, { method: "POST", body: JSON.stringify({ saying, button, typed }) });
  if (!answer.ok) throw new Error(await answer.text());
  return await answer.text();
}
