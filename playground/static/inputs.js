/**
 * Block Kit's input elements as form controls.
 *
 * Each control shows its draft, or its initial value, and reports changes in the control API's plain form: text,
 * an option's value, a list of option values, or null for nothing.
 */

import { APP, channelName, getWorkspace } from "./directory.js";
import { el } from "./dom.js";
import { plain, textNodes } from "./text.js";

/** Inputs that also act by themselves, outside an input block. */
export const INTERACTIVE_INPUTS = new Set([
  "static_select",
  "multi_static_select",
  "users_select",
  "multi_users_select",
  "channels_select",
  "conversations_select",
  "radio_buttons",
  "checkboxes",
  "datepicker",
  "timepicker",
  "datetimepicker",
]);

// Where a touched element holds its value, and where an untouched one says what it starts with.
const VALUE = ["value", "initial_value"];
const OPTION = ["selected_option", "initial_option"];
const OPTIONS = ["selected_options", "initial_options"];
const HELD = {
  plain_text_input: VALUE,
  number_input: VALUE,
  email_text_input: VALUE,
  url_text_input: VALUE,
  static_select: OPTION,
  radio_buttons: OPTION,
  multi_static_select: OPTIONS,
  checkboxes: OPTIONS,
  datepicker: ["selected_date", "initial_date"],
  timepicker: ["selected_time", "initial_time"],
  datetimepicker: ["selected_date_time", "initial_date_time"],
  users_select: ["selected_user", "initial_user"],
  multi_users_select: ["selected_users", "initial_users"],
  channels_select: ["selected_channel", "initial_channel"],
  conversations_select: ["selected_conversation", "initial_conversation"],
  file_input: ["files", "initial_files"],
};

/**
 * Draw an input element.
 *
 * It shows `field.draft` once somebody has touched it, before that what `field.state` says Slack holds, and
 * without either what the element starts with.
 */
export function renderInput(element, field) {
  const draw = INPUTS[element.type];
  if (!draw) return el("p", { class: "unsupported" }, `This page does not draw “${element.type}” inputs.`);
  return draw(element, {
    ...field,
    value: field.draft === undefined ? held(element, field.state) : field.draft,
  });
}

function held(element, state) {
  const [key, initial] = HELD[element.type];
  const value = state ? state[key] : element[initial];
  const plainOf = (found) => found?.value ?? found;
  return Array.isArray(value) ? value.map(plainOf) : plainOf(value);
}

const INPUTS = {
  plain_text_input: (element, field) =>
    textControl(element, field, element.multiline ? { tag: "textarea", rows: 3 } : {}),
  number_input: (element, field) =>
    textControl(element, field, { inputmode: element.is_decimal_allowed ? "decimal" : "numeric" }),
  email_text_input: (element, field) => textControl(element, field, { type: "email" }),
  url_text_input: (element, field) => textControl(element, field, { type: "url" }),
  datepicker: (element, field) => picker("date", element, field),
  timepicker: (element, field) => picker("time", element, field),
  datetimepicker: dateTimePicker,
  static_select: select,
  multi_static_select: (element, field) => choices("checkbox", element, field),
  checkboxes: (element, field) => choices("checkbox", element, field),
  radio_buttons: (element, field) => choices("radio", element, field),
  users_select: (element, field) => select({ ...element, options: people() }, field),
  multi_users_select: (element, field) => choices("checkbox", { ...element, options: people() }, field),
  channels_select: (element, field) => select({ ...element, options: channels() }, field),
  conversations_select: (element, field) => select({ ...element, options: channels() }, field),
  // The playground keeps no files.
  file_input: (element, field) => el("input", { ...hooks(element, field), type: "file", disabled: true }),
};

const optionOf = (value, text) => ({ value, text: { text, emoji: false } });

/** Everybody who is there, as a choice. */
const people = () =>
  getWorkspace()
    .people.filter(({ id, deleted }) => id !== APP && !deleted)
    .map(({ id, name }) => optionOf(id, name));

const channels = () =>
  getWorkspace()
    .channels.filter((each) => !each.is_im && !each.is_archived)
    .map(({ id }) => optionOf(id, `#${channelName(id)}`));

function hooks(element, { id, label, describedBy, invalid, required }) {
  return {
    id,
    class: "control",
    "data-action-id": element.action_id,
    "data-focus-on-load": element.focus_on_load,
    "aria-label": label,
    "aria-describedby": describedBy,
    "aria-invalid": invalid ? "true" : undefined,
    "aria-required": required ? "true" : undefined,
  };
}

function textControl(element, field, { tag = "input", ...attributes }) {
  const { value, onChange } = field;
  const control = el(tag, {
    ...hooks(element, field),
    ...attributes,
    autocomplete: "off",
    spellcheck: "false",
    placeholder: element.placeholder && plain(element.placeholder),
    oninput: () => onChange(control.value === "" ? null : control.value),
  });
  control.value = value ?? "";
  return control;
}

function picker(type, element, field) {
  const control = el("input", {
    ...hooks(element, field),
    type,
    onchange: () => field.onChange(control.value || null),
  });
  control.value = field.value ?? "";
  return control;
}

/** Slack keeps a moment as unix seconds, the browser's control as the reader's local time. */
function dateTimePicker(element, field) {
  const { value: seconds, onChange } = field;
  const report = (local) => onChange(local ? String(Date.parse(local) / 1000) : null);
  return picker("datetime-local", element, {
    ...field,
    value: seconds && localTime(new Date(Number(seconds) * 1000)),
    onChange: report,
  });
}

const localTime = (moment) =>
  new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

const optionsOf = (element) => element.options ?? element.option_groups.flatMap((group) => group.options);

function select(element, field) {
  const option = ({ value, text }) => el("option", { value, selected: value === field.value }, plain(text));
  const placeholder = element.placeholder ? plain(element.placeholder) : "Select an option";
  // Arrows on a closed menu choose at once. Where that already acts, they open it instead.
  const open = (event) => {
    if (!field.acts || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    event.currentTarget.showPicker();
  };
  return el(
    "select",
    {
      ...hooks(element, field),
      onchange: ({ target }) => field.onChange(target.value || null),
      onkeydown: open,
    },
    el("option", { value: "" }, placeholder),
    element.option_groups
      ? element.option_groups.map((group) =>
          el("optgroup", { label: plain(group.label) }, group.options.map(option)),
        )
      : element.options.map(option),
  );
}

function choices(type, element, field) {
  const chosen = new Set([field.value ?? []].flat());
  const name = `choice-${crypto.randomUUID()}`;
  const report = ({ currentTarget }) => {
    const values = [...currentTarget.querySelectorAll("input:checked")].map((input) => input.value);
    field.onChange(type === "radio" ? (values[0] ?? null) : values);
  };
  const choice = (option) =>
    el(
      "label",
      { class: "choice" },
      el("input", { type, name, value: option.value, checked: chosen.has(option.value) }),
      el(
        "span",
        {},
        textNodes(option.text),
        option.description && el("small", {}, textNodes(option.description)),
      ),
    );
  return el(
    "div",
    {
      ...hooks(element, field),
      class: "choices",
      role: type === "radio" ? "radiogroup" : "group",
      "aria-labelledby": field.id && `${field.id}-label`,
      onchange: report,
    },
    optionsOf(element).map(choice),
  );
}
