// The sections of an agent's system prompt.
//
// Job: read the sections inside the first model step of a turn, bound them, put them in the order of their places, and
// return their labels. Neighbours: model-step calls it while it computes instructions, and keeps the labels with the
// step's record; section-cache has the cached texts; the agents layer joins the texts.
//
// Invariants:
// 1. A section never fails the run: one that cannot be shown is left out and reported.
// 2. A cached text is read without a session, and shown only to the same tenant, agent, channel and user.
// 3. Within a place, sections keep the order of the agent.
import {
  Labels,
  sectionPlaces,
  type PromptSection,
  type SectionCall,
  type SectionText,
  type ShownSection,
} from "#kernel";
import { withTimeout } from "#base";
import type { StepExecution } from "./gated-step.ts";
import type { RunServices } from "./run-services.ts";
import type { SectionContent } from "./section-cache.ts";

/** Maximum characters of a section. */
const maxCharacters = 100_000;
const defaultTimeoutMs = 5_000;

/** The sections of a turn. */
interface SectionState {
  readonly sections: readonly ShownSection[];
  /** Undefined: none. */
  readonly labels: Labels | undefined;
}

/** Reads the agent's sections. Called inside a model step. */
export async function readSections(services: RunServices, execution: StepExecution): Promise<SectionState> {
  const { sections } = services.policy.agent;
  if (!sections) return { sections: [], labels: undefined };
  const all = withBuiltIn(services, sections);
  const contents = await Promise.all(all.map((section) => readSection(services, execution, section)));
  const read = all.flatMap(({ name, place }, index) => {
    const content = contents[index];
    return content && content.text !== "" ? [{ name, place, ...content }] : [];
  });
  const { runId } = services.identity.scope;
  const labels = read.reduce((joined, { name, labels: own }) => {
    const source = { kind: "input", name, runId, stepId: execution.place.id } as const;
    return Labels.join(joined, Labels.withSource(own, source));
  }, Labels.none);
  const shown = sectionPlaces.flatMap((place) => read.filter((section) => section.place === place));
  return {
    sections: shown.map(({ place, text }) => ({ place, text })),
    labels: Labels.isNone(labels) ? undefined : labels,
  };
}

/**
 * Adds the hint of the channel and the footer. The session comes last, so that everything before it is equal in other
 * sessions.
 */
function withBuiltIn(
  { engine, identity: { scope }, policy: { prompt } }: RunServices,
  sections: readonly PromptSection[],
): readonly PromptSection[] {
  const { channel, sessionId } = scope;
  const hint = channel === null ? undefined : prompt.hints.get(channel);
  const day = new Date(engine.clock.now()).toISOString().slice(0, 10);
  const { workingDirectory } = prompt;
  const where = workingDirectory === null ? "" : `\nCurrent working directory: ${workingDirectory}`;
  return [
    { name: "platform", place: "platform", keep: "turn", read: () => hint ?? null },
    { name: "footer", place: "footer", read: () => `Current date: ${day}${where}` },
    ...sections,
    { name: "session", place: "footer", read: () => `Session ID: ${sessionId}` },
  ];
}

/** Reads a section. Null: it is left out. */
async function readSection(
  services: RunServices,
  { io, calls }: StepExecution,
  section: PromptSection,
): Promise<SectionContent | null> {
  const { engine, identity, policy, state } = services;
  const { tenantId, userId, channel, sessionId } = identity.scope;
  const { name, place, timeoutMs: ms = defaultTimeoutMs } = section;
  const isKept = place !== "footer" && section.keep !== "turn";
  const call = { tenantId, userId, channel, agentId: identity.agentId, sessionId: isKept ? null : sessionId };
  const onTimeout = (): never => {
    throw new Error(`it took longer than ${ms} ms`);
  };
  try {
    const kept = isKept ? policy.prompt.cache.placeFor(section, call) : null;
    const version = kept ? (section.version?.(call) ?? 0) : 0;
    const known = kept?.get(version);
    if (known) return known;
    const memory = state.openMemory(call.sessionId);
    const limit = { clock: engine.clock, ms, signal: io.signal, onTimeout };
    const text = await withTimeout(limit, async (limited) => {
      const asked: SectionCall = {
        ...call,
        report: (error) => void engine.report(`section ${name}`, error),
        memory,
        get signal() {
          return limited.signal;
        },
      };
      return section.read(asked);
    });
    const content = toContent(section, text, memory?.seen);
    kept?.set(version, content);
    return content;
  } catch (error) {
    if (!calls.findStop()) engine.report(`section ${name}`, error);
    return null;
  }
}

/** Converts the result of a section. @throws TypeError for anything but a text, and for one that is too long. */
function toContent(
  { trust = "trusted", sensitivity }: PromptSection,
  read: string | SectionText | null,
  seen: Labels | undefined,
): SectionContent {
  const { text, labels } = typeof read === "string" || read === null ? { text: read ?? "" } : read;
  if (typeof text !== "string") throw new TypeError(`a section must be a string, got ${typeof text}`);
  if (text.length > maxCharacters)
    throw new TypeError(`a section must have at most ${maxCharacters} characters, got ${text.length}`);
  const stated = Labels.join(Labels.broughtBy({ trust, sensitivity }), labels);
  return { text: text.trim(), labels: Labels.join(stated, seen) };
}
