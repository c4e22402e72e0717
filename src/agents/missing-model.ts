import type { Model } from "#kernel";
import { languageModel, type AnyModel } from "#models";

/** The model of an agent that was made without one. The runtime refuses a program with such an agent. */
export const missingModel: Model = Object.freeze({
  id: "missing",
  generate: () => Promise.reject(new TypeError("this agent has no model: set agent({ model })")),
});

/** Returns a model in its internal form, or {@link missingModel}: an environment variable may have named none. */
export const modelOrMissing = (model: AnyModel | undefined): Model =>
  model === undefined ? missingModel : languageModel(model);
