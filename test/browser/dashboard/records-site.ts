import { type Agent, AgentId, ChatMessage, RunId, SessionId, TreeId } from "reeve";
import { EntryId, Partition, Session } from "reeve/store";
import { expect } from "vitest";
import type { DashboardSite } from "./dashboard-site.ts";
import { siteOf } from "./open-page.ts";
import { mailingTeam } from "./mailing-team.ts";

const at = Date.now() - 120_000;

const entryOf = (id: string, message: ChatMessage, place: number) => ({
  id: EntryId.of(id),
  at: at + place * 1000,
  type: "message" as const,
  message,
});

/** Writes a conversation with an abandoned branch and a compaction. `words` are in every message. */
export async function writeConversation(
  site: DashboardSite,
  words: string,
  partition = Partition.of(undefined),
): Promise<void> {
  const { sessions } = site.runtime.store;
  const session = new Session(sessions, partition, { id: SessionId.of("report-talk"), userId: null });
  await session.open({ startedAt: at, agentId: AgentId.of("lead"), title: `The report ${words}` });
  await session.append([
    entryOf("u1", ChatMessage.user(`When is it due? ${words}`), 1),
    entryOf("a1", ChatMessage.assistant(`On Monday. ${words}`), 2),
  ]);
  const branch = RunId.root(TreeId.of("dropped"));
  const dropped = [
    entryOf("d1", ChatMessage.user("And on Friday?"), 3),
    entryOf("d2", ChatMessage.assistant("No."), 4),
  ];
  await session.append(dropped, { branch, after: EntryId.of("a1") });
  await session.append([
    entryOf("u2", ChatMessage.user("Who writes it?"), 5),
    entryOf("a2", ChatMessage.assistant("The writer."), 6),
    {
      id: EntryId.of("c1"),
      at: at + 7000,
      type: "compaction",
      summary: `They agreed on Monday. ${words}`,
      keptFrom: EntryId.of("u2"),
      tokensBefore: 9_120,
    },
    entryOf("u3", ChatMessage.user("Thanks."), 8),
  ]);
}

/** A site with open and decided questions, a conversation and a checked audit. */
export async function recordsSite(body = "The report is attached."): Promise<{
  readonly site: DashboardSite;
  readonly lead: Agent;
}> {
  const { agents, lead } = mailingTeam(body);
  const site = await siteOf(agents);
  await writeConversation(site, "");
  const pending = async (tree: string) =>
    (await site.runtime.approvals.list({ state: "pending", tree })).items;
  for (const [id, decision] of [
    ["first", "denied"],
    ["second", "approved"],
  ] as const) {
    await site.runtime.start(lead, "Send it", { id, name: `Report ${id}`, budget: { maxCostUsd: 1 } });
    await expect.poll(async () => (await pending(id)).length).toBe(1);
    const [question] = await pending(id);
    await site.runtime.approvals.decide(question?.id ?? "", { decision, by: "dana", remember: true });
    await site.runtime.run(id).result();
  }
  await site.runtime.start(lead, "Send it", { id: "third", name: "Report third", budget: { maxCostUsd: 1 } });
  await expect.poll(async () => (await pending("third")).length).toBe(1);
  return { site, lead };
}
