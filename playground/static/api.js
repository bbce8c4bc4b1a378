/** The stand-in's control API, and its stream of changes. */

/** What the control API refused, in its own sentence. */
export class ControlError extends Error {}

async function call(method, path, body) {
  let response;
  try {
    response = await fetch(`/control/${path}`, {
      method,
      headers: body && { "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
  } catch {
    throw new ControlError("The playground does not answer. Is it still running?");
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ControlError(answer.error ?? `The playground answered ${response.status}.`);
  return answer;
}

const query = (values) => new URLSearchParams(values).toString();
const viewPath = (id, verb) => `views/${encodeURIComponent(id)}/${verb}`;

export const api = {
  state: () => call("GET", "state"),
  messages: (user) => call("GET", `messages?${query({ as: user })}`).then((answer) => answer.messages),
  views: (user) => call("GET", `views?${query({ user })}`),
  deliveries: () => call("GET", "deliveries").then((answer) => answer.deliveries),
  click: (press) => call("POST", "click", press),
  clickInView: (id, press) => call("POST", viewPath(id, "click"), press),
  submitView: (id, form) => call("POST", viewPath(id, "submit"), form),
  closeView: (id, who) => call("POST", viewPath(id, "close"), who),
  say: (message) => call("POST", "message", message),
  command: (command) => call("POST", "command", command),
  event: (event) => call("POST", "event", { event }),
  clearFaults: () => call("DELETE", "faults"),
};

/**
 * Follow the stream for ever.
 *
 * The browser reconnects by itself; what was missed meanwhile is unknown, so every (re)connection reports `all`.
 */
export function follow({ onChange, onConnection }) {
  const source = new EventSource("/control/stream");
  source.onopen = () => {
    onConnection(true);
    onChange("all");
  };
  source.onerror = () => {
    onConnection(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow({ onChange, onConnection }), 1000);
  };
  source.onmessage = (event) => onChange(JSON.parse(event.data).type);
}
