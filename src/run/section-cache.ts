import type { Labels, PromptSection, RunId, SectionCall, TenantId } from "#kernel";
import { platformHints } from "#agents";
import { LruMap } from "#base";

/** Maximum number of cached texts of one section, or of system messages. */
const maxTexts = 1_000;
const maxCharacters = 5_000_000;

/** The data of a process that system prompts show. */
export interface PromptDeps {
  readonly cache: SectionCache;
  /** The computed system messages of runs, for copies of them. */
  readonly sent: SentPrompts;
  /** Hints by channel. */
  readonly hints: ReadonlyMap<string, string>;
  /** Null: prompts do not show it. */
  readonly workingDirectory: string | null;
}

/** Creates the data that system prompts of a runtime show. Its hints override the built-in ones. */
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
 * The newest system messages of runs in this process. A copy of a run gets the same one, byte for byte, although its
 * sections may have changed. A process without it computes it.
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

/** A text of a section, with its labels. */
export interface SectionContent {
  /** Empty: there is nothing to show. */
  readonly text: string;
  readonly labels: Labels;
}

/** A cached text, with the version that was requested before it was read. */
interface KeptText {
  readonly version: string | number;
  readonly content: SectionContent;
}

/** The cache position of a section's text. */
interface CachePosition {
  /** Returns the text. Undefined if there is none of this version. */
  get(version: string | number): SectionContent | undefined;
  set(version: string | number, content: SectionContent): void;
}

/**
 * The cached texts of sections, by tenant, agent, channel and user. A text that was being read while its section was
 * dropped is not cached: it may be old.
 */
class SectionCache {
  #sections = new WeakMap<PromptSection, LruMap<string, KeptText>>();

  /** Returns the cache position for a call. It has no effect once its section is dropped. */
  placeFor(
    section: PromptSection,
    { tenantId, agentId, channel, userId }: Omit<SectionCall, "signal" | "report" | "memory">,
  ): CachePosition {
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

  /** Drops the texts of these sections, by default of all. The next turn that shows them reads them again. */
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
