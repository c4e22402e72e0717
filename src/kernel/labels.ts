import { RunId, StepId } from "./ids.ts";
import { isJsonObject, type Json } from "./json.ts";

/** The origin of content. Content from the web is untrusted, and so is memory, because earlier runs wrote it. */
type Origin = "system" | "user" | "tool" | "web" | "agent" | "memory";

/** The readers that content is meant for. */
export type Sensitivity = "public" | "private";

/**
 * Labels of the content that a run has seen. They are only added: derived content carries the labels of all its
 * sources.
 */
export interface Labels {
  /** Whether a stranger may have written some of the content. */
  readonly untrusted: boolean;
  /** Whether some of the content is not public. */
  readonly private: boolean;
  /** The first sources of the labels, oldest first: at most {@link Labels.maxSources}. Absent: none is known. */
  readonly sources?: readonly LabelSource[] | undefined;
}

/** A source of labels in a run. A tool that a run calls often is one source: the first call. */
export type LabelSource = {
  readonly kind: "tool" | "step" | "input" | "file";
  /** The name of the tool or the step, or the way by which an input came. */
  readonly name: string;
  /** The run that it was added to. Null: it came with a file. */
  readonly runId: RunId | null;
  /** The tool call. Null: it came without a step. */
  readonly stepId: StepId | null;
  readonly untrusted: boolean;
  readonly private: boolean;
};

/** A tool's declaration about its results and effects. */
export interface ToolFlow {
  /** The origin of its results. Default: `tool`. */
  readonly origin?: Extract<Origin, "tool" | "web" | "memory"> | undefined;
  /** Whether a stranger may have written its results. Default: untrusted from the web and from memory, else trusted. */
  readonly trust?: "trusted" | "untrusted" | undefined;
  /** The sensitivity of its results. Default: public. */
  readonly sensitivity?: Sensitivity | undefined;
  /**
   * Whether a call sends data out: a mail, a request, a visible change. Default: true from the web, where the URL alone
   * can carry data out, and above risk `safe`.
   */
  readonly egress?: boolean | undefined;
}

const maxSources = 20;

/** Returns the union of two source lists, earliest first. Returns the same list if nothing is added. */
function joinSources(one: Labels["sources"], other: Labels["sources"]): Labels["sources"] {
  if (!one || !other || one === other) return one ?? other;
  if (one.length >= maxSources) return one;
  const added = other.filter((source) => !one.some((known) => isSameSource(known, source)));
  return added.length === 0 ? one : [...one, ...added].slice(0, maxSources);
}

/** Whether two sources are the same. Steps are ignored: a run's first call of a tool represents all its calls. */
const isSameSource = (one: LabelSource, other: LabelSource): boolean =>
  one.name === other.name && one.runId === other.runId && one.kind === other.kind;

const none: Labels = Object.freeze({ untrusted: false, private: false });

/** Constructors and readers of {@link Labels}. */
export const Labels = {
  none,
  of: ({ untrusted = false, private: isPrivate = false }: Partial<Labels>): Labels =>
    untrusted || isPrivate ? { untrusted, private: isPrivate } : none,
  /** Returns the union of two labels. Returns the same object if nothing is added. */
  join: (one: Labels, other: Labels | undefined): Labels => {
    if (!other) return one;
    const untrusted = one.untrusted || other.untrusted;
    const isPrivate = one.private || other.private;
    const sources = joinSources(one.sources, other.sources);
    const isSame = untrusted === one.untrusted && isPrivate === one.private && sources === one.sources;
    return isSame ? one : { untrusted, private: isPrivate, ...(sources && { sources }) };
  },
  /** Sources that labels name at most. */
  maxSources,
  /** Returns the labels with this source, unless they are empty or already name sources. */
  withSource: (labels: Labels, source: Omit<LabelSource, "untrusted" | "private">): Labels => {
    if (Labels.isNone(labels) || labels.sources) return labels;
    const { untrusted, private: isPrivate } = labels;
    return { untrusted, private: isPrivate, sources: [{ ...source, untrusted, private: isPrivate }] };
  },
  /** Returns the labels of a tool's results. */
  broughtBy: ({ origin, trust, sensitivity }: ToolFlow): Labels =>
    Labels.of({
      untrusted: trust === undefined ? origin === "web" || origin === "memory" : trust === "untrusted",
      private: sensitivity === "private",
    }),
  /** Whether a call of this tool sends data out. */
  leavesBy: ({ egress, origin, risk }: ToolFlow & { readonly risk: string }): boolean =>
    egress ?? (risk !== "safe" || origin === "web"),
  /**
   * Describes the first sources for people: " (untrusted: tool fetch; private: tool inbox)". Empty if none is known.
   */
  describeSources: ({ sources = [] }: Labels): string => {
    const parts = (["untrusted", "private"] as const).flatMap((label) => {
      const names = sources.filter((source) => source[label]).map(({ kind, name }) => `${kind} ${name}`);
      return names.length === 0 ? [] : [`${label}: ${[...new Set(names)].slice(0, 3).join(", ")}`];
    });
    return parts.length === 0 ? "" : ` (${parts.join("; ")})`;
  },
  /** Reads labels from storage. Null if invalid. Invalid sources are left out. */
  decode: decodeLabels,
  /** Whether the labels are empty. */
  isNone: (labels: Labels): boolean => !labels.untrusted && !labels.private,
} as const;

function decodeLabels(value: Json | undefined): Labels | null {
  if (!isJsonObject(value)) return null;
  const { untrusted, private: isPrivate } = value;
  if (typeof untrusted !== "boolean" || typeof isPrivate !== "boolean") return null;
  const labels = Labels.of({ untrusted, private: isPrivate });
  const sources = decodeSources(value["sources"]);
  return sources.length === 0 || Labels.isNone(labels) ? labels : { ...labels, sources };
}

/** Reads the sources of labels. Invalid ones are left out. */
function decodeSources(value: Json | undefined): readonly LabelSource[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, Labels.maxSources).flatMap((each: Json) => {
    if (!isJsonObject(each)) return [];
    const { kind, name, runId, stepId, untrusted, private: isPrivate } = each;
    if (typeof name !== "string" || name.length > maxNameLength || !isSourceKind(kind)) return [];
    if (typeof untrusted !== "boolean" || typeof isPrivate !== "boolean") return [];
    if (runId !== null && !(typeof runId === "string" && RunId.is(runId))) return [];
    if (stepId !== null && !(typeof stepId === "string" && StepId.is(stepId))) return [];
    return [{ kind, name, runId, stepId, untrusted, private: isPrivate }];
  });
}

const maxNameLength = 200;
const sourceKinds: readonly string[] = ["tool", "step", "input", "file"] satisfies LabelSource["kind"][];
const isSourceKind = (value: Json | undefined): value is LabelSource["kind"] =>
  typeof value === "string" && sourceKinds.includes(value);
