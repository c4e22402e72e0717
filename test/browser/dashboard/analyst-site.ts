import type { CreateRuntimeOptions } from "reeve";
import type { Auth } from "reeve/server";
import { afterEach } from "vitest";
import { type Analyst, analystTexts, type AnalystTexts, openAnalyst } from "./analyst.ts";
import type { DashboardSite } from "./dashboard-site.ts";
import { siteOf } from "./open-page.ts";

/** Closed after each test. */
export const analysts: Analyst[] = [];

afterEach(async () => {
  for (const each of analysts.splice(0)) await each[Symbol.asyncDispose]();
});

/** A server whose analyst has ended the tree `covenant`. */
export async function analystSite({
  auth = "none",
  texts = analystTexts,
  options = {},
}: {
  readonly auth?: Auth | "none";
  readonly texts?: AnalystTexts;
  readonly options?: Partial<CreateRuntimeOptions>;
} = {}): Promise<{ readonly site: DashboardSite; readonly analyst: Analyst }> {
  const analyst = await openAnalyst(texts);
  analysts.push(analyst);
  const site = await siteOf([analyst.agent], auth, options);
  await analyst.run(site, "covenant");
  return { site, analyst };
}

/** The places of the three model calls and the two tools. */
export const places = {
  first: "model:1",
  accounts: "tool:2",
  second: "model:3",
  page: "tool:4",
  last: "model:5",
} as const;
/** The address of a step of the tree. */
export const stepAddress = (place: string): string => `/runs/covenant/0/${place}`;
