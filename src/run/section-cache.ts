import type { Labels, PromptSection, RunId, SectionCall, TenantId } from "#kernel";
import { platformHints } from "#agents";
import { LruMap } from "#base";

/** The texts of one section, or of system messages, that a process keeps. */
const maxTexts = 1_000;
const maxCharacters = 5_000_000;

/** The data of a process that system prompts show. */
export interface PromptDeps {
  readonly cache: SectionCache;
  /** The system messages of runs that have computed theirs, for copies of them. */
  readonly sent: SentPrompts;
  /** Hints by channel. */
  readonly hints: ReadonlyMap<string, string>;
  /** Null: prompts do not show it. */
  readonly workingDirectory: string | null;
}

/** Creates the data that system prompts of a runtime show. Its own hints replace those that are built in. */
export function createPromptDeps({
  platforms = {},
  workingDirectory = null,
}: {
  readonly platforms?: Readonly<Record<string, string>>;
  readonly workingDirectory?: string | null;
}): PromptDeps {
  const hints = new Map(Object.entries({ ...platformHints, ...platforms }));
  return { cache: new SectionCache(), sent: new SentPrompts(), hints, workingDirectory };
}

/**
 * The newest system messages of runs in this process. A copy of a run is sent the same one, byte for byte, although its
 * sections may have changed. A process that does not have it computes it.
 */
class SentPrompts {
  readonly #texts = new LruMap<string, string>({
    max: maxTexts,
    maxSize: maxCharacters,
    sizeOf: ({ length }) => length,
  });

  get(tenantId: TenantId | null, run: RunId): string | undefined {
    return this.#texts.get(JSON.stringify([tenantId, run]));
  }

  set(tenantId: TenantId | null, run: RunId, text: string): void {
    this.#texts.set(JSON.stringify([tenantId, run]), text);
  }
}

/** A text of a section, with the labels that it brings. */
export interface SectionContent {
  /** Empty: there is nothing to show. */
  readonly text: string;
  readonly labels: Labels;
}

/** A text that is kept, with the version that was asked for before it was read. */
interface KeptText {
  readonly version: string | number;
  readonly content: SectionContent;
}

/** Where the text of a section is kept. */
interface KeptPlace {
  /** Returns the text; undefined if there is none of this version. */
  get(version: string | number): SectionContent | undefined;
  set(version: string | number, content: SectionContent): void;
}

/**
 * The texts of sections that a process keeps, each by tenant, agent, channel and user. A text that was being read while
 * its section was dropped is kept nowhere: it may be old.
 */
class SectionCache {
  #sections = new WeakMap<PromptSection, LruMap<string, KeptText>>();

  /** Returns the place for a call. It leads nowhere once its section is dropped. */
  placeFor(
    section: PromptSection,
    { tenantId, agentId, channel, userId }: Omit<SectionCall, "signal" | "report" | "memory">,
  ): KeptPlace {
    const texts = this.#textsOf(section);
    const key = JSON.stringify([tenantId, agentId, channel, userId]);
    return {
      get: (version) => {
        const kept = texts.get(key);
        return kept && kept.version === version ? kept.content : undefined;
      },
      set: (version, content) => texts.set(key, { version, content }),
    };
  }

  /** Drops the texts of these sections, by default of all. They are read again in the next turn that shows them. */
  drop(sections?: readonly PromptSection[]): void {
    if (sections) for (const section of sections) this.#sections.delete(section);
    else this.#sections = new WeakMap();
  }

  #textsOf(section: PromptSection): LruMap<string, KeptText> {
    const known = this.#sections.get(section);
    if (known) return known;
    const made = new LruMap<string, KeptText>({
      max: maxTexts,
      maxSize: maxCharacters,
      sizeOf: ({ content }) => content.text.length,
    });
    this.#sections.set(section, made);
    return made;
  }
}
