import { join } from "node:path";
import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { getLlama, type TokenMeterState } from "node-llama-cpp";
import { Json } from "#kernel";

const weights = join(import.meta.dirname, "fixtures/tiny-tool-caller.gguf");

/** A real language model, very small: 366,000 parameters, one letter per token. It can spawn and finish. */
export interface TinyModel extends AsyncDisposable {
  readonly model: LanguageModelV4;
  /** Its own token count. */
  readonly meter: () => TokenMeterState;
}

/** Loads it into this process. It takes one call at a time. */
export async function tinyModel(): Promise<TinyModel> {
  const llama = await getLlama({ gpu: false, build: "never" });
  const loaded = await llama.loadModel({ modelPath: weights });
  // The defaults hang on so small a model.
  const context = await loaded.createContext({
    contextSize: 256,
    threads: 1,
    flashAttention: false,
    batchSize: 64,
  });
  const sequence = context.getSequence();
  const doGenerate: LanguageModelV4["doGenerate"] = async ({ prompt }) => {
    const before = sequence.tokenMeter.getState();
    await sequence.clearHistory();
    let line = "";
    for await (const token of sequence.evaluate(loaded.tokenize(linesOf(prompt)), { temperature: 0 })) {
      line += loaded.detokenize([token]);
      if (line.endsWith("\n")) break;
    }
    const { usedInputTokens: input, usedOutputTokens: output } = sequence.tokenMeter.diff(before);
    const content = parseLine(line);
    return {
      content: [content],
      finishReason: { unified: content.type === "text" ? "stop" : "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: output, text: output, reasoning: 0 },
      },
      warnings: [],
    };
  };
  const identity = { specificationVersion: "v4", provider: "tiny", modelId: "tiny-tool-caller" } as const;
  return {
    model: { ...identity, supportedUrls: {}, doGenerate, doStream },
    meter: () => sequence.tokenMeter.getState(),
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}

function doStream(): never {
  throw new Error("it does not stream");
}

/** The one form it was trained on: a line for each message, and the beginning of its own. */
function linesOf(prompt: LanguageModelV4Prompt): string {
  const lines = prompt.flatMap(({ role, content }) => {
    if (role === "system") return [];
    return content.map((part) => {
      if (part.type === "text") return `U: ${part.text}`;
      if (part.type === "tool-call") return `A: ${formatSpawn(part.toolName, part.input)}`;
      return `R: ${part.type === "tool-result" && part.output.type === "text" ? part.output.value : ""}`;
    });
  });
  return [...lines, "A: "].join("\n");
}

/** Formats a spawn as the model wrote it. */
function formatSpawn(toolName: string, input: unknown): string {
  const { task } = Json.as<{ readonly task: string }>(Json.of(input));
  return JSON.stringify({ tool: "spawn", agent: toolName.replace("ask_", ""), task });
}

/** Parses a line of the model: a spawn, or the end. */
function parseLine(line: string): LanguageModelV4Content {
  const { tool, agent, task, text } = Json.as<Readonly<Record<string, string>>>(JSON.parse(line));
  if (tool === "finish") return { type: "text", text: text ?? "" };
  return { type: "tool-call", toolCallId: "hire", toolName: `ask_${agent}`, input: JSON.stringify({ task }) };
}
