import { InvalidArgumentError } from "commander";
import { type AuditHead, Json } from "#kernel";

/** A number of at least 0. @throws InvalidArgumentError */
export function amount(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0)
    throw new InvalidArgumentError("must be a number >= 0");
  return value;
}

/** A whole number of at least 0. @throws InvalidArgumentError */
export function parseCount(text: string): number {
  const value = amount(text);
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError("must be an integer >= 0");
  return value;
}

/** A value as JSON. @throws InvalidArgumentError */
export function json(text: string): Json {
  try {
    return Json.of(JSON.parse(text));
  } catch {
    throw new InvalidArgumentError("must be JSON (put a text in double quotes)");
  }
}

/** Collects an option that may be given several times. */
export const collectValues = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  text,
];

/** `<index>:<hash>`. @throws InvalidArgumentError */
export function auditHead(text: string): AuditHead {
  const [, index, hash] = /^(\d{1,15}):([\w-]+)$/.exec(text) ?? [];
  if (index === undefined || hash === undefined)
    throw new InvalidArgumentError("must be <index>:<hash>, as `audit verify` prints it");
  return { index: Number(index), hash };
}

/** Returns the options that were given. */
export function omitUndefined<Options extends object>(options: Options): DefinedOptions<Options> {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Json.as(Json.of(Object.fromEntries(entries)));
}

type DefinedOptions<Options> = { readonly [Name in keyof Options]?: Exclude<Options[Name], undefined> };
