import { type ChatMessage, type Envelope, Labels, type ManifestPart, RunId, type Tool } from "#kernel";
import type { InboxItem } from "#tree";

/** Maximum number of remembered inputs. A message is recorded soon after it came. */
const maxInputs = 100;

type Origin = Pick<ManifestPart, "from" | "labels">;

/**
 * Finds the origin and the labels of a message in a prompt: the sender of an input, and the labels of the tools whose
 * results it has. Inputs are found by their text, so an input that an extension has changed has no sender.
 */
export class PartOrigins {
  readonly #tools: ReadonlyMap<string, Labels>;
  #inputs: readonly { readonly text: string; readonly origin: Origin }[] = [];

  constructor(tools: readonly Tool[]) {
    this.#tools = new Map(tools.map((tool) => [tool.name, Labels.broughtBy(tool)]));
  }

  /** Remembers an input that has arrived. */
  note(item: InboxItem): void {
    if (!("envelope" in item) || item.kind === "topic") return;
    const { text, labels } = item.envelope;
    const origin = { from: { kind: item.kind, name: senderName(item.envelope) }, ...shownLabels(labels) };
    this.#inputs = [...this.#inputs.slice(1 - maxInputs), { text, origin }];
  }

  /** Returns the origin of a message, as far as it is known. */
  getOrigin(message: ChatMessage): Origin {
    if (message.role === "user") return this.#getInputOrigin(getFirstText(message));
    const labels = message.content.reduce(
      (joined, block) =>
        block.type === "tool-result" ? Labels.join(joined, this.#tools.get(block.name)) : joined,
      Labels.none,
    );
    return shownLabels(labels);
  }

  /** Returns the origin of an input. A guardrail may have added a note after the text. */
  #getInputOrigin(text: string): Origin {
    const isOf = (input: string): boolean => text === input || text.startsWith(`${input}\n\nNote: `);
    return this.#inputs.findLast((input) => input.text !== "" && isOf(input.text))?.origin ?? {};
  }
}

const getFirstText = ({ content: [first] }: ChatMessage): string =>
  first?.type === "text" ? first.text : "";

function senderName({ from }: Envelope): string {
  return from.kind === "run"
    ? `${from.agentId} ${from.runId.slice(RunId.tree(from.runId).length)}`
    : from.name;
}

/** Returns labels without their sources. Empty if there are none. */
export function shownLabels(labels: Labels | undefined): Pick<ManifestPart, "labels"> {
  if (!labels || Labels.isNone(labels)) return {};
  return { labels: { untrusted: labels.untrusted, private: labels.private } };
}
