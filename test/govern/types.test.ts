import type { LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import type { generateText, LanguageModel } from "ai";
import { govern, type GovernEvent, type SpendAccount } from "reeve/govern";
import { expectTypeOf, test } from "vitest";
import { fakeV3, fakeV4 } from "../models/fake-models.ts";

test("a governed model has the type of the model, and an account", () => {
  const v4 = govern(fakeV4([]).model);
  const v3 = govern(fakeV3([]).model);
  expectTypeOf(v4).toExtend<LanguageModelV4>();
  expectTypeOf(v3).toExtend<LanguageModelV3>();
  expectTypeOf(v4).toExtend<LanguageModel>();
  expectTypeOf(v4).toExtend<Parameters<typeof generateText>[0]["model"]>();
  expectTypeOf(v4.account).toEqualTypeOf<SpendAccount>();
});

test("a governed fetch is a fetch, and `run` returns what its work returns", () => {
  expectTypeOf(govern.fetch()).toExtend<typeof globalThis.fetch>();
  expectTypeOf(govern.run({}, () => 1)).toEqualTypeOf<number>();
  expectTypeOf(govern.run({}, async ({ spend }) => spend.turns)).toEqualTypeOf<Promise<number>>();
});

test("a model is governed on a new account or an opened one, and a plain name does not compile", () => {
  const { model } = fakeV4([]);
  const account = govern.account({ budget: { maxTokens: 1 } });
  govern(model, { account, unpriced: "allow" });
  govern(model, { budget: { maxCostUsd: 1 }, name: "mine" });
  // @ts-expect-error -- a deadline is the caller's own signal
  govern(model, { budget: { deadlineS: 1 } });
  // @ts-expect-error -- a bare name would mean a hosted gateway
  expectTypeOf(() => govern("gpt-5")).returns.toBeObject();
});

test("the type of an event determines its fields", () => {
  expectTypeOf<Extract<GovernEvent, { type: "budget.settled" }>>()
    .toHaveProperty("inDoubt")
    .toEqualTypeOf<boolean>();
  expectTypeOf<Extract<GovernEvent, { type: "budget.denied" }>>().not.toHaveProperty("attempt");
});
