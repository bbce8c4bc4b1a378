/** What can go wrong: one family, with the names of the Python library. */

/** Something about an approval went wrong. */
export class AssentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = new.target.name;
  }
}

/** This cannot be asked as it is. The message names the place and the cure. */
export class InvalidRequestError extends AssentError {}
/** Something else was asked under the same names before. */
export class ConflictError extends AssentError {}
/** The answer was already used: a run resumes with it once. */
export class ConsumedError extends AssentError {}
/** Another process is using the answer now. */
export class ClaimedError extends AssentError {}
/** People are still deciding. */
export class NotDecidedError extends AssentError {}
/** The stored decision does not fit what was asked, so nothing may run. */
export class DecisionNotAllowedError extends AssentError {}
/** No such question is stored: it was not asked with this key, or was removed since. */
export class UnknownInterruptError extends AssentError {}

/** The question ended without an answer that a run could resume with. */
export class InterruptEndedError extends AssentError {}
/** Nobody decided in time. */
export class InterruptExpiredError extends InterruptEndedError {}
/** The question was withdrawn before it was decided. */
export class InterruptWithdrawnError extends InterruptEndedError {}
/** The bot could not ask. `code` is a short reason for programs, such as `channel_not_found` or `policy`. */
export class InterruptRefusedError extends InterruptEndedError {
  constructor(message: string, readonly code: string) {
    super(message);
  }
}

/** People did not approve this call, so it did not run. */
export class NotApprovedError extends AssentError {
  constructor(
    message: string,
    readonly tool: string,
    /** What the person wrote. */
    readonly reason: string | null,
    /** A Slack id; `expired` when nobody decided in time; `null` when nobody was asked. */
    readonly decidedBy: string | null,
  ) {
    super(message);
  }
}
/** A person rejected this call. */
export class RejectedError extends NotApprovedError {}

const BY_CODE: Record<string, new (message: string) => AssentError> = {
  invalid: InvalidRequestError,
  unknown_dialect: InvalidRequestError,
  malformed: InvalidRequestError,
  too_large: InvalidRequestError,
  conflict: ConflictError,
  consumed: ConsumedError,
  claimed: ClaimedError,
  pending: NotDecidedError,
  not_allowed: DecisionNotAllowedError,
  not_found: UnknownInterruptError,
  ended: InterruptEndedError,
};

/** Make the error for a code of the HTTP API. */
export function errorOf(code: string, message: string): AssentError {
  return new (BY_CODE[code] ?? AssentError)(message);
}
