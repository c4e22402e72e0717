import {
  Json,
  type ChatContext,
  type ChatMessage,
  type ChatMiddleware,
  type ContentBlock,
  type FunctionContext,
  type FunctionMiddleware,
  type Secret,
} from "#kernel";
import { safeRegex } from "../guardrails/safe-regex.ts";
import { sensitive, type SensitivePattern } from "./sensitive.ts";

/** Options of a redaction. */
export interface RedactOptions {
  /**
   * Default: e-mail addresses, phone numbers, card numbers, IBANs and keys. Custom patterns need bounded repetitions,
   * as in `\d{4,19}`.
   */
  readonly patterns?: readonly SensitivePattern[] | undefined;
  /**
   * `never`: the model sees `[email]`, and nothing is restored. `arguments`: it sees `[email-3kx2p0qa]`, the same for
   * the same address in the whole tree, and tools get the real value. `answers`: the model's answers get the real
   * value, too. Default: never.
   */
  readonly restore?: "never" | "arguments" | "answers" | undefined;
  /**
   * Key that makes placeholders equal in all trees of a tenant, for example in all turns of a conversation. Default:
   * equal only in one tree, by its own secret.
   */
  readonly key?: Secret | undefined;
  /** The tools that get the real values. All others get the placeholders. Default: all. */
  readonly tools?: readonly string[] | undefined;
}

/**
 * Hides sensitive values from a model: in its input, in its answers and, around tools, in their results. Text, data and
 * arguments are searched. Images, reasoning and live text are not. The session keeps the user's messages unchanged.
 *
 * Placeholders are derived from the value and the secret of the tree. So a child, and a later call, use the same
 * placeholder, and nothing has to be stored: only values that the call itself was shown are restored.
 *
 * @throws TypeError for a pattern that may take more than linear time.
 */
export function redact(options: RedactOptions = {}): ChatMiddleware & FunctionMiddleware {
  const { restore = "never", tools, key } = options;
  const patterns = (options.patterns ?? sensitive).map(toSafePattern);
  return {
    name: "redact",
    async process(context: ChatContext | FunctionContext, next) {
      const { scope } = context;
      const mask = new Mask(patterns, restore === "never" ? null : (text) => scope.keyedHash(text, key));
      if ("tool" in context) {
        await next();
        hideResult(context, mask);
        return;
      }
      const { messages, systemInstructions } = context;
      context.systemInstructions = mask.text(systemInstructions);
      context.messages = messages.map((message) => redactMessage(mask, message));
      if (mask.hidden > 0) scope.note("redact", `hid ${mask.hidden} values`);
      try {
        await next();
      } finally {
        Object.assign(context, { messages, systemInstructions });
      }
      if (!context.result) return;
      const { message } = context.result;
      const mayKnow = (tool: string): boolean => restore !== "never" && (tools?.includes(tool) ?? true);
      const content = message.content.map((block) => {
        if (block.type === "tool-call" && mayKnow(block.name))
          return { ...block, input: mask.restore(block.input) };
        if (block.type === "text" && restore === "answers")
          return { ...block, text: mask.restoreText(block.text) };
        return redactBlock(mask, block);
      });
      context.result = { ...context.result, message: { ...message, content } };
    },
  };
}

/**
 * Returns a pattern that takes linear time. The built-in ones do, as a test shows: most can begin only where none of
 * their characters comes before.
 */
const toSafePattern = (pattern: SensitivePattern): SensitivePattern =>
  sensitive.includes(pattern) ? pattern : { ...pattern, looks: safeRegex(pattern.looks) };

function hideResult(context: FunctionContext, mask: Mask): void {
  const { result } = context;
  if (!result) return;
  const content = result.content.map((block) => redactBlock(mask, block));
  context.result = {
    ...result,
    content,
    ...(result.value !== undefined && { value: mask.json(result.value) }),
  };
}

/**
 * Returns the message with hidden values. The same object if there is nothing to hide, because its size is already
 * known.
 */
function redactMessage(mask: Mask, message: ChatMessage): ChatMessage {
  const content = message.content.map((block) => redactBlock(mask, block));
  return content.every((block, index) => block === message.content[index])
    ? message
    : { ...message, content };
}

function redactBlock(mask: Mask, block: ContentBlock): ContentBlock {
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
      const content = block.content.map((inner) => redactBlock(mask, inner));
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

/** The number of characters that distinguish placeholders. */
const nameLength = 8;

/** The hidden values of one call, by placeholder. */
class Mask {
  readonly #patterns: readonly SensitivePattern[];
  readonly #name: ((text: string) => string) | null;
  readonly #placeholders = new Map<string, string>();
  readonly #values = new Map<string, string>();
  /** Number of hidden values. */
  hidden = 0;

  /** `name`: returns a keyed hash of a value. Null: all values of a kind get the same placeholder. */
  constructor(patterns: readonly SensitivePattern[], name: ((text: string) => string) | null) {
    this.#patterns = patterns;
    this.#name = name;
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

  /** Returns the value with hidden values. The same object if there is nothing to hide. */
  json(value: Json): Json {
    const before = JSON.stringify(value);
    const after = JSON.stringify(value, (_, leaf: unknown) =>
      typeof leaf === "string" ? this.text(leaf) : leaf,
    );
    return after === before ? value : Json.as(JSON.parse(after));
  }

  restoreText(text: string): string {
    return text.replaceAll(
      /\[[^[\]]{1,80}\]/g,
      (placeholder) => this.#values.get(placeholder) ?? placeholder,
    );
  }

  restore(value: Json): Json {
    const put = (_: string, leaf: unknown): unknown =>
      typeof leaf === "string" ? this.restoreText(leaf) : leaf;
    return Json.as(JSON.parse(JSON.stringify(value, put)));
  }

  #placeholder(kind: string, found: string): string {
    this.hidden += 1;
    if (this.#name === null) return `[${kind}]`;
    const known = this.#placeholders.get(found);
    if (known !== undefined) return known;
    const name = this.#name(`${kind}/${found}`)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, "");
    // Two values must never share a placeholder, so the second one gets a longer one.
    let length = nameLength;
    while (this.#values.has(`[${kind}-${name.slice(0, length)}]`)) length += 1;
    const placeholder = `[${kind}-${name.slice(0, length)}]`;
    this.#placeholders.set(found, placeholder);
    this.#values.set(placeholder, found);
    return placeholder;
  }
}
