import type { Labels, Sensitivity } from "./labels.ts";
import type { RunScope } from "./run-meta.ts";
import type { AgentId, SessionId } from "./ids.ts";
import type { RunMemory } from "./run-memory.ts";

/** The places of the system prompt, in order. The most stable content comes first. */
export const sectionPlaces = Object.freeze([
  "identity",
  "docs",
  "append",
  "memory",
  "user",
  "skills",
  "platform",
  "footer",
] as const);

/** A place of {@link sectionPlaces}. */
export type SectionPosition = (typeof sectionPlaces)[number];

/** The request for which a section is read. */
export interface SectionCall extends Pick<RunScope, "tenantId" | "userId" | "channel"> {
  readonly agentId: AgentId;
  /** Null for a cached section: its text is shown in all sessions of the user. */
  readonly sessionId: SessionId | null;
  /** Aborted when the time is up, or when the run must stop. */
  readonly signal: AbortSignal;
  /** Reports a part that the section leaves out, such as a file that cannot be read. The section is shown without it. */
  readonly report: (error: unknown) => void;
  /** The memory that the run can reach, without that of the session for a cached section. Null: there is no store. */
  readonly memory: RunMemory | null;
}

/** A text with labels of its own, such as a note that a labelled run has written. */
export interface SectionText {
  readonly text: string;
  /** They are joined with those that the section states. Default: none. */
  readonly labels?: Labels | undefined;
}

/** The text of a section, as a turn shows it. */
export interface ShownSection {
  readonly place: SectionPosition;
  readonly text: string;
}

/**
 * A part of the system prompt. It is read inside the first model step of a turn, so it may do I/O, and is shown for the
 * whole turn. A section that fails, hangs or exceeds 100,000 characters is left out of the turn and reported.
 *
 * A text in the place `identity` replaces the agent's `instructions`; texts in other places are added.
 */
export interface PromptSection {
  readonly name: string;
  readonly place: SectionPosition;
  /** Returns the text. Null or an empty text: there is nothing to show. */
  read(call: SectionCall): Promise<string | SectionText | null> | string | SectionText | null;
  /**
   * Caching of the text. `process`: cached for all turns of one tenant, user and channel in this process, until
   * `version` changes. `turn`: read for every turn, for texts that other processes may change. Default: process; for
   * the footer always turn.
   */
  readonly keep?: "process" | "turn" | undefined;
  /** Returns the version of a cached text. Called for every turn, so it must be fast. Default: constant. */
  version?(call: Omit<SectionCall, "signal" | "report" | "memory">): string | number;
  /** Whether a stranger may have written the text. A run that is shown it carries the label. Default: trusted. */
  readonly trust?: "trusted" | "untrusted" | undefined;
  /** The readers that the text is meant for. Default: public. */
  readonly sensitivity?: Sensitivity | undefined;
  /** Default: 5,000. */
  readonly timeoutMs?: number | undefined;
}
