/** An end that was foreseen: words for people, a code for scripts. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: number;
  /** What can be done about it. */
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
