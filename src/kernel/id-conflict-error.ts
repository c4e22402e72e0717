import { ReeveError } from "./errors.ts";

/** The id names a tree that was started with another agent, input or user, or on other terms, or by another process. */
export class IdConflictError extends ReeveError {
  readonly code = "id-conflict";
  readonly id: string;
  /** Whether another process started the tree, on an engine that keeps trees in the memory of their process. */
  readonly isOfOtherProcess: boolean;

  constructor({
    id,
    isOfOtherProcess = false,
  }: {
    readonly id: string;
    readonly isOfOtherProcess?: boolean;
  }) {
    super(
      isOfOtherProcess
        ? `${id} was started by another process, and the local engine keeps trees in the memory of their process: use another id, or read what the store has of it`
        : `${id} was started with another agent, input, user or conversation, or with other limits, rules, labels, retention or priority: use another id`,
    );
    this.id = id;
    this.isOfOtherProcess = isOfOtherProcess;
  }
}
