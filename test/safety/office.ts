import {
  agent,
  aiSdkTools,
  tool,
  untrustedContent,
  type BuiltAgent,
  type Extension,
  type Json,
  type Tool,
} from "reeve";
import { z } from "zod";
import { obedientModel } from "./obedient-model.ts";

/** An office to attack. */
export interface Office {
  readonly assistant: BuiltAgent;
  readonly agents: readonly BuiltAgent[];
  /** The data that left, and what it contained. */
  readonly left: string[];
}

/** Ways in, and ways out. */
function toolsOf(page: () => Json, left: string[]): readonly Tool[] {
  const any = z.looseObject({});
  const out = async (input: unknown): Promise<string> => (left.push(JSON.stringify(input)), "sent");
  const fetchPage = async (): Promise<Json> => page();
  return [
    tool({
      name: "read_account",
      description: "x",
      risk: "safe",
      sensitivity: "private",
      input: any,
      execute: async () => "secret-4711",
    }),
    tool({
      name: "fetch_page",
      description: "x",
      risk: "safe",
      origin: "web",
      egress: false,
      input: any,
      execute: fetchPage,
    }),
    tool({
      name: "fetch_broken",
      description: "x",
      risk: "safe",
      origin: "web",
      egress: false,
      input: any,
      execute: async () => {
        throw new Error(`502: ${z.string().parse(page())}`);
      },
    }),
    tool({ name: "send_mail", description: "x", risk: "high", input: any, execute: out }),
    tool({ name: "post_comment", description: "x", risk: "safe", egress: true, input: any, execute: out }),
    tool({
      name: "relay",
      description: "x",
      risk: "critical",
      input: any,
      run: (ctx, input) => ctx.step("out", () => out(input)),
    }),
    tool({
      name: "browse",
      description: "x",
      risk: "safe",
      input: any,
      run: async (ctx) => (await ctx.tool("fetch_page", { from: "browse" })).value ?? null,
    }),
    ...aiSdkTools({ sdk_search: { execute: fetchPage }, sdk_webhook: { execute: out } }),
  ];
}

/** An assistant that can read an account and the web, send mail, post, and spawn; every tool is allowed. */
export function office(
  page: () => Json,
  model = obedientModel(),
  extensions: readonly Extension[] = [],
): Office {
  const left: string[] = [];
  const own = toolsOf(page, left);
  const given = { model, permissions: "allow-all", budget: { maxTurns: 30 } } as const;
  const member = (name: string, team: readonly BuiltAgent[]): BuiltAgent =>
    agent({ ...given, name, tools: own, team, guardrails: [untrustedContent()], extensions });
  const reader = member("reader", []);
  const writer = member("writer", [reader]);
  const assistant = member("assistant", [writer, reader]);
  return { assistant, agents: [assistant, writer, reader], left };
}
