/** Where content comes from. The web is untrusted, and so is memory: whatever an earlier run has written there. */
export type Origin = "system" | "user" | "tool" | "web" | "agent" | "memory";

/** Who may read content. */
export type Sensitivity = "public" | "private";

/** What a run has seen. Labels are only ever added: whatever is made of content carries the labels of all of it. */
export interface Labels {
  /** Something that a stranger may have written. */
  readonly untrusted: boolean;
  /** Something that not everybody may read. */
  readonly private: boolean;
}

/** What a tool says of what it brings and does. */
export interface ToolFlow {
  /** Where its results come from. Default `tool`. */
  readonly origin?: Extract<Origin, "tool" | "web" | "memory"> | undefined;
  /** May a stranger have written its results? Default: untrusted from the web and from memory, else trusted. */
  readonly trust?: "trusted" | "untrusted" | undefined;
  /** Who may read its results. Default public. */
  readonly sensitivity?: Sensitivity | undefined;
  /**
   * Does anything leave by its call: a mail, a request, a change that others see? Default: yes from the web, where the
   * address alone can carry something out, and yes above risk `safe`.
   */
  readonly outside?: boolean | undefined;
}

const none: Labels = Object.freeze({ untrusted: false, private: false });

/** Constructors and readers of {@link Labels}. */
export const Labels = {
  none,
  of: ({ untrusted = false, private: isPrivate = false }: Partial<Labels>): Labels =>
    untrusted || isPrivate ? { untrusted, private: isPrivate } : none,
  /** What has either. The same object where nothing is added. */
  join: (one: Labels, other: Labels | undefined): Labels => {
    const untrusted = one.untrusted || other?.untrusted === true;
    const isPrivate = one.private || other?.private === true;
    return untrusted === one.untrusted && isPrivate === one.private ? one : { untrusted, private: isPrivate };
  },
  /** What the results of a tool are. */
  broughtBy: ({ origin, trust, sensitivity }: ToolFlow): Labels =>
    Labels.of({
      untrusted: trust === undefined ? origin === "web" || origin === "memory" : trust === "untrusted",
      private: sensitivity === "private",
    }),
  /** Does something leave by a call of this tool? */
  leavesBy: ({ outside, origin, risk }: ToolFlow & { readonly risk: string }): boolean =>
    outside ?? (risk !== "safe" || origin === "web"),
  /** Nothing to tell of? */
  isNone: (labels: Labels): boolean => !labels.untrusted && !labels.private,
} as const;
