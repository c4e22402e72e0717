import type { Labels, Sensitivity } from "./labels.ts";
import type { RunScope } from "./run-meta.ts";
import type { AgentId, SessionId } from "./ids.ts";
import type { RunMemory } from "./run-memory.ts";

/** A place in the system prompt. The prompt has them in this order: what changes least comes first. */
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
export type SectionPlace = (typeof sectionPlaces)[number];

/** The request for which a section is read. */
export interface SectionCall extends Pick<RunScope, "tenantId" | "userId" | "channel"> {
  readonly agentId: AgentId;
  /** Null for a section that is kept: its text is shown in all sessions of the user. */
  readonly sessionId: SessionId | null;
  /** Aborted when the time is up, or when the run must stop. */
  readonly signal: AbortSignal;
  /** Reports a part that the section leaves out, such as a file that cannot be read. The section is shown without it. */
  readonly report: (error: unknown) => void;
  /** The memory that the run can reach; a section that is kept reaches none of the session. Null: there is no store. */
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
  readonly place: SectionPlace;
  readonly text: string;
}

/**
 * A part of the system prompt. It is read inside the first model step of a turn, so it may read anything, and is shown for
 * the whole turn. A section that fails, hangs or has more than 100,000 characters is left out of the turn, and reported.
 *
 * A text in the place `identity` replaces the agent's `instructions`; texts in other places are added.
 */
export interface PromptSection {
  readonly name: string;
  readonly place: SectionPlace;
  /** Returns the text. Null or an empty text: there is nothing to show. */
  read(call: SectionCall): Promise<string | SectionText | null> | string | SectionText | null;
  /**
   * How long a text is kept. `process`: for all turns of one tenant, user and channel in this process, until `version`
   * changes. `turn`: it is read for every turn, as a text must be that other processes may change. Default: process; for
   * the footer always turn.
   */
  readonly keep?: "process" | "turn" | undefined;
  /** Returns the version of a kept text. It is called for every turn, so it must be quick. Default: always the same. */
  version?(call: Omit<SectionCall, "signal" | "report" | "memory">): string | number;
  /** Whether a stranger may have written the text: a run that is shown it carries the label. Default: trusted. */
  readonly trust?: "trusted" | "untrusted" | undefined;
  /** The readers that the text is meant for. Default: public. */
  readonly sensitivity?: Sensitivity | undefined;
  /** Default 5,000. */
  readonly timeoutMs?: number | undefined;
}
