/** An expected failure of a command: a message for the user, an exit code for scripts. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: number;
  /** A suggested remedy. Null if there is none. */
  readonly hint: string | null;

  constructor(
    message: string,
    fields: { readonly code: string; readonly exitCode: number; readonly hint?: string | null },
  ) {
    super(message);
    this.code = fields.code;
    this.exitCode = fields.exitCode;
    this.hint = fields.hint ?? null;
  }
}
