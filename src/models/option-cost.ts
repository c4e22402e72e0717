import { isJsonObject, type Json, type JsonObject } from "#kernel";
import { familyOf, optionRow, type OptionFamily } from "./option-table.ts";

/** The least a provider lets a model think. */
const minThinkingTokens = 1_024;

/** The cost that the provider options of a call add. */
export interface OptionCost {
  /** An upper bound of the tokens that options add to the prompt. */
  readonly inputTokens: number;
  /** Number of answers requested at once. */
  readonly choices: number;
  /** Tokens of thinking that the provider's package adds to the limit. */
  readonly thinkingTokens: number;
  /** Whether the prompt is written to the provider's cache. */
  readonly writesCache: boolean;
  /** Options of unknown cost, as `provider.option`. */
  readonly refused: readonly string[];
}

/** One option and its position. */
interface PlacedOption {
  readonly place: string;
  readonly family: OptionFamily;
  readonly name: string;
  readonly value: Json;
}

/** Counts the options of a call, by provider. `allowed`: options that may cost anything, as `provider.option`. */
export function optionCost(options: JsonObject, allowed: readonly string[] = []): OptionCost {
  return total(optionsOf(options), allowed);
}

/** Counts the fields of a request body that belong to none of the parts that are measured themselves. */
export function fieldCost(family: OptionFamily, fields: JsonObject, allowed: readonly string[]): OptionCost {
  const placed = Object.entries(fields).map(([name, value = null]) => ({ place: name, family, name, value }));
  return total(placed, allowed);
}

function total(placed: readonly PlacedOption[], allowed: readonly string[]): OptionCost {
  const cost = { inputTokens: 0, choices: 1, thinkingTokens: 0, writesCache: false };
  const refused: string[] = [];
  for (const option of placed) {
    const { place, family, name, value } = option;
    if (value === null || allowed.includes(place)) continue;
    const row = optionRow(family, name);
    switch (row?.treatment) {
      case "free":
      case "limit":
        break;
      case "prompt":
        cost.inputTokens += Buffer.byteLength(JSON.stringify(value));
        break;
      case "thinking":
        cost.thinkingTokens = Math.max(cost.thinkingTokens, thinkingOf(value));
        break;
      case "choices":
        if (isPositiveCount(value)) cost.choices = Math.max(cost.choices, value);
        else refused.push(place);
        break;
      case "cache":
        cost.writesCache = true;
        break;
      case "refused":
      case undefined:
        if (!(row && isFree(value, row.freeValues ?? []))) refused.push(place);
    }
  }
  return { ...cost, refused };
}

/**
 * Returns the options and the output limit to send, so that no field lets the provider exceed `granted`. A thinking
 * budget is taken out of the limit. If it does not fit, it is reduced to half of the limit; if that leaves too little,
 * thinking is off.
 */
export function limitOptions(
  options: JsonObject,
  granted: number,
): { readonly maxOutputTokens: number; readonly options: JsonObject } {
  const { choices } = optionCost(options);
  const share = Math.floor(granted / choices);
  let budget = 0;
  const limited: Record<string, Json> = {};
  for (const [namespace, own] of Object.entries(options)) {
    if (own === undefined) continue;
    limited[namespace] = own;
    if (!isJsonObject(own)) continue;
    const family = familyOf(namespace);
    const fields = Object.entries(own).map(([name, value = null]): [string, Json] => {
      const treatment = optionRow(family, name)?.treatment;
      if (treatment === "limit") return [name, lowerNumbers(value, share)];
      if (treatment !== "thinking") return [name, value];
      const setting = fitThinking(value, share);
      budget = Math.max(budget, thinkingOf(setting));
      return [name, setting];
    });
    limited[namespace] = Object.fromEntries(fields);
  }
  return { maxOutputTokens: share - budget, options: limited };
}

/** Lowers every number of a limit, also inside an object; a limit that is not a number is replaced. */
export function lowerNumbers(value: Json, most: number): Json {
  if (isJsonObject(value)) {
    const fields = Object.entries(value).map(([name, inner = null]): [string, Json] => [
      name,
      typeof inner === "number" ? Math.min(inner, most) : inner,
    ]);
    return Object.fromEntries(fields);
  }
  if (value === null) return null;
  return isPositiveCount(value) ? Math.min(value, most) : most;
}

function optionsOf(options: JsonObject): readonly PlacedOption[] {
  return Object.entries(options).flatMap(([namespace, own]): readonly PlacedOption[] => {
    const family = familyOf(namespace);
    // No package reads options that are no object.
    if (!isJsonObject(own)) return [];
    return Object.entries(own).map(([name, value = null]) => ({
      place: `${namespace}.${name}`,
      family,
      name,
      value,
    }));
  });
}

function fitThinking(value: Json, share: number): Json {
  const asked = thinkingOf(value);
  if (asked === 0 || !isJsonObject(value)) return value;
  const budget = asked < share ? asked : Math.floor(share / 2);
  return budget >= minThinkingTokens ? { ...value, budgetTokens: budget } : { type: "disabled" };
}

function thinkingOf(value: Json): number {
  if (!isJsonObject(value) || value["type"] !== "enabled") return 0;
  const budget = value["budgetTokens"];
  return isPositiveCount(budget) ? budget : minThinkingTokens;
}

function isFree(value: Json, freeValues: readonly string[]): boolean {
  if (value === false) return true;
  const values = Array.isArray(value) ? value : [value];
  return values.length > 0 && values.every((each) => typeof each === "string" && freeValues.includes(each));
}

function isPositiveCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}
