import type { Json, Model, ModelRequest, ModelResponse } from "#kernel";
import { copyJson } from "#base";

/** One model call: its request and its answer. */
export interface RecordedCall {
  readonly request: Json;
  readonly response: ModelResponse;
}

/** A model that writes down everything it is asked and answers. */
export interface RecordingModel extends Model {
  readonly calls: readonly RecordedCall[];
}

/** Thrown when a replayed model is asked something else than was recorded. */
export class RecordingDriftError extends Error {
  readonly call: number;
  readonly recorded: Json;
  readonly asked: Json;

  constructor(call: number, recorded: Json, asked: Json) {
    super(
      `call ${call} is not what was recorded:\n- ${JSON.stringify(recorded)}\n+ ${JSON.stringify(asked)}`,
    );
    this.name = "RecordingDriftError";
    this.call = call;
    this.recorded = recorded;
    this.asked = asked;
  }
}

/** Passes calls on to a real model and keeps them. `calls` is plain JSON: write it to a file of the test. */
export function recordModel(model: Model): RecordingModel {
  const calls: RecordedCall[] = [];
  return {
    ...model,
    calls,
    async generate(request, call) {
      const response = await model.generate(request, call);
      calls.push({ request: identityOf(request), response });
      return response;
    },
  };
}

/** Answers from a recording, in order; loud as soon as the questions differ or run out. */
export function replayModel(recording: readonly RecordedCall[], options: Pick<Model, "id" | "price">): Model {
  let next = 0;
  return {
    ...options,
    async generate(request) {
      const number = next + 1;
      const recorded = recording[next];
      const asked = identityOf(request);
      if (!recorded) throw new RecordingDriftError(number, null, asked);
      if (JSON.stringify(recorded.request) !== JSON.stringify(asked)) {
        throw new RecordingDriftError(number, recorded.request, asked);
      }
      next += 1;
      return recorded.response;
    },
  };
}

/** The identity of a request: budgets may change the length limit without changing the question. */
function identityOf({ messages, tools }: ModelRequest): Json {
  return copyJson({ messages, tools });
}
