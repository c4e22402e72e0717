import type { Sensitivity } from "./labels.ts";
import type { ChatMessage } from "./message.ts";
import type { RunScope } from "./run-meta.ts";

/** The call for which a source is read. */
export interface EphemeralCall {
  /** The run whose model is called. */
  readonly scope: RunScope;
  /** Aborted when the time is up, or when the run must stop. */
  readonly signal: AbortSignal;
}

/**
 * The state of something that is open while a run works, such as a web page. It is read for every model call of an agent's
 * turns and shown last in the prompt, for that call only. It is kept nowhere: in no journal, entry, event or manifest.
 */
export interface EphemeralSource {
  readonly name: string;
  /** Whether there is something to show. Default: `getState` decides. */
  isOpen?(call: EphemeralCall): boolean;
  /**
   * Returns the state as a text, or as messages of the user. Null: nothing is open. It is called inside the step, so it
   * may do I/O. A source that fails, hangs or returns too much is left out of the call and reported.
   */
  getState(
    call: EphemeralCall,
  ): Promise<string | readonly ChatMessage[] | null> | string | readonly ChatMessage[] | null;
  /** Releases the run's resources on this worker, when the run has ended. May be called for a run that has none. */
  close?(run: Pick<EphemeralCall, "scope">): Promise<void> | void;
  /** Whether a stranger may have written the state. Default: untrusted. */
  readonly trust?: "trusted" | "untrusted" | undefined;
  /** The readers that the state is meant for. Default: public. */
  readonly sensitivity?: Sensitivity | undefined;
  /** Default: 5,000. */
  readonly timeoutMs?: number | undefined;
}
