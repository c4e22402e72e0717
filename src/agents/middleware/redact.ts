import {
  Json,
  type ChatContext,
  type ChatMessage,
  type ChatMiddleware,
  type ContentBlock,
  type FunctionContext,
  type FunctionMiddleware,
} from "#kernel";
import { sensitive, type SensitivePattern } from "./sensitive.ts";

/** What is hidden, and from whom. */
export interface RedactOptions {
  /** Default: e-mail addresses, phone numbers, card numbers, IBANs and keys. Yours must be linear in time, too. */
  readonly patterns?: readonly SensitivePattern[] | undefined;
  /**
   * `never`: the model sees `[email]`, and nothing comes back. `arguments`: it sees `[email-1]`, and where it passes that
   * to a tool, the tool gets the real one. Default never.
   */
  readonly restore?: "never" | "arguments" | undefined;
}

/**
 * Hides what a model should not see: in everything that is said to it, in what it answers, and, around tools, in
 * their results. Words, data and arguments are looked through; pictures and thinking are not, nor are the pieces of an
 * answer that are shown while it comes. What the session keeps of the user's own words stays as it was.
 *
 * Placeholders are numbered in the order of the messages, for each call anew: nothing has to be kept.
 */
export function redact(options: RedactOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { patterns = sensitive, restore = "never" } = options;
  return {
    async process(context: ChatContext | FunctionContext, next) {
      const mask = new Mask(patterns, restore === "arguments");
      if ("tool" in context) {
        await next();
        hideResult(context, mask);
        return;
      }
      const { messages, systemInstructions } = context;
      context.systemInstructions = mask.text(systemInstructions);
      context.messages = messages.map((message) => hidden(mask, message));
      try {
        await next();
      } finally {
        Object.assign(context, { messages, systemInstructions });
      }
      if (!context.result) return;
      const { message } = context.result;
      const content = message.content.map((block) =>
        block.type === "tool-call" && restore === "arguments"
          ? { ...block, input: mask.restored(block.input) }
          : hiddenBlock(mask, block),
      );
      context.result = { ...context.result, message: { ...message, content } };
    },
  };
}

function hideResult(context: FunctionContext, mask: Mask): void {
  const { result } = context;
  if (!result) return;
  const content = result.content.map((block) => hiddenBlock(mask, block));
  context.result = {
    ...result,
    content,
    ...(result.value !== undefined && { value: mask.json(result.value) }),
  };
}

/** The same message where nothing is to hide: its size is known already. */
function hidden(mask: Mask, message: ChatMessage): ChatMessage {
  const content = message.content.map((block) => hiddenBlock(mask, block));
  return content.every((block, index) => block === message.content[index])
    ? message
    : { ...message, content };
}

function hiddenBlock(mask: Mask, block: ContentBlock): ContentBlock {
  switch (block.type) {
    case "text": {
      const text = mask.text(block.text);
      return text === block.text ? block : { ...block, text };
    }
    case "tool-call": {
      const input = mask.json(block.input);
      return input === block.input ? block : { ...block, input };
    }
    case "tool-result": {
      const content = block.content.map((inner) => hiddenBlock(mask, inner));
      return content.every((inner, index) => inner === block.content[index]) ? block : { ...block, content };
    }
    case "data": {
      const data = mask.json(block.data);
      return data === block.data ? block : { ...block, data };
    }
    case "reasoning":
    case "file":
    case "unknown":
      return block;
  }
}

/** What was hidden in one call, and behind what. */
class Mask {
  readonly #patterns: readonly SensitivePattern[];
  readonly #isNumbered: boolean;
  readonly #placeholders = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  constructor(patterns: readonly SensitivePattern[], isNumbered: boolean) {
    this.#patterns = patterns;
    this.#isNumbered = isNumbered;
  }

  text(text: string): string {
    return this.#patterns.reduce((hiddenSoFar, { name, looks, length }) => {
      const everywhere = looks.global ? looks : new RegExp(looks.source, `${looks.flags}g`);
      return hiddenSoFar.replace(everywhere, (found: string) => {
        const end = length ? length(found) : found.length;
        return end === 0 ? found : this.#placeholder(name, found.slice(0, end)) + found.slice(end);
      });
    }, text);
  }

  /** The same value where nothing is to hide. */
  json(value: Json): Json {
    const before = JSON.stringify(value);
    const after = JSON.stringify(value, (_, leaf: unknown) =>
      typeof leaf === "string" ? this.text(leaf) : leaf,
    );
    return after === before ? value : Json.as(JSON.parse(after));
  }

  restored(value: Json): Json {
    const real = new Map([...this.#placeholders].map(([found, placeholder]) => [placeholder, found]));
    const put = (text: string): string =>
      text.replaceAll(/\[[^[\]]{1,80}\]/g, (placeholder) => real.get(placeholder) ?? placeholder);
    return Json.as(
      JSON.parse(JSON.stringify(value, (_, leaf: unknown) => (typeof leaf === "string" ? put(leaf) : leaf))),
    );
  }

  #placeholder(name: string, found: string): string {
    if (!this.#isNumbered) return `[${name}]`;
    const known = this.#placeholders.get(found);
    if (known !== undefined) return known;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const placeholder = `[${name}-${count}]`;
    this.#placeholders.set(found, placeholder);
    return placeholder;
  }
}
