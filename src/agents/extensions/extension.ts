import {
  checkDuration,
  eventTypes,
  interceptedMoments,
  sectionPlaces,
  type Extension,
  type PromptSection,
} from "#kernel";
import { isToolName, toolNameRule } from "../tools/tool-name.ts";

/**
 * Creates an extension: checks and freezes it. Its tools, hooks and other parts stay the same objects. @throws
 * TypeError or RangeError with the problem.
 */
export function extension(options: Extension): Extension {
  const { name, tools, middleware, guardrails, sections, ephemeral, onSaved, on } = options;
  if (!isExtensionName(name))
    throw new TypeError(
      `an extension needs a name of letters, digits, _, . and -, at most 64, got ${JSON.stringify(name)}`,
    );
  const unknown = Object.keys(options).find((key) => !parts.has(key));
  if (unknown !== undefined)
    throw new TypeError(
      `extension ${name} has an unknown field ${unknown}; fields: ${[...parts].join(", ")}`,
    );
  const bad = tools?.find((given) => !isToolName(given.name));
  if (bad)
    throw new TypeError(`extension ${name} has a tool named ${JSON.stringify(bad.name)}: ${toolNameRule}`);
  for (const section of sections ?? []) checkSection(section);
  checkHandlers(name, on);
  for (const { timeoutMs = 0 } of ephemeral ?? []) checkDuration("timeoutMs", timeoutMs);
  return Object.freeze({
    ...options,
    tools: freeze(tools),
    guardrails: freeze(guardrails),
    sections: freeze(sections),
    ephemeral: freeze(ephemeral),
    onSaved: freeze(onSaved),
    ...(on && { on: Object.freeze({ ...on }) }),
    middleware: Object.freeze({
      agent: freeze(middleware?.agent),
      chat: freeze(middleware?.chat),
      function: freeze(middleware?.function),
    }),
  });
}

const parts: ReadonlySet<string> = new Set([
  "name",
  "tools",
  "hooks",
  "middleware",
  "guardrails",
  "sections",
  "ephemeral",
  "onSaved",
  "on",
  "load",
]);

const moments: ReadonlySet<string> = new Set([...interceptedMoments, ...eventTypes]);

/** Checks the handlers. @throws TypeError for an unknown moment or event, or for a handler that is not a function. */
function checkHandlers(name: string, on: Extension["on"] = {}): void {
  for (const [moment, handler] of Object.entries(on)) {
    if (!moments.has(moment))
      throw new TypeError(
        `extension ${name} has a handler for ${JSON.stringify(moment)}: use one of ${interceptedMoments.join(", ")}, or an event type`,
      );
    if (handler !== undefined && typeof handler !== "function")
      throw new TypeError(`extension ${name}: its handler for ${moment} is not a function`);
  }
}

const isExtensionName = (name: unknown): boolean => typeof name === "string" && /^[\w.-]{1,64}$/.test(name);

const freeze = <Item>(list: readonly Item[] = []): readonly Item[] => Object.freeze([...list]);

/** Checks a section. @throws TypeError or RangeError with the problem. */
export function checkSection({ name, place, timeoutMs = 0 }: PromptSection): void {
  if (!sectionPlaces.includes(place))
    throw new TypeError(
      `section ${name} has the place ${JSON.stringify(place)}: use one of ${sectionPlaces.join(", ")}`,
    );
  checkDuration("timeoutMs", timeoutMs);
}
