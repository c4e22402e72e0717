import { agent, memory, type Model } from "reeve";
import { memoryStore } from "reeve/stores/memory";
import { testRuntime } from "reeve/testing";
import { expect, test } from "vitest";
import { obedientModel } from "./obedient-model.ts";

const owners = ["acme", "globex"].flatMap((tenant) => ["ada", "bob"].map((user) => ({ tenant, user })));
type Owner = (typeof owners)[number];

const nameOf = ({ tenant, user }: Owner): string => `${tenant}-${user}`;

test("1,008 interleaved memory operations of two users of two tenants never mix", async () => {
  let crossings = 0;
  let operations = 0;
  let seen = 0;
  const commandScript = obedientModel();
  /** Counts prompts with something of another user, or of another tenant in the block that a tenant shares. */
  const model: Model = {
    id: "watched",
    generate: async (request, signal) => {
      const prompt = JSON.stringify(request.messages);
      const me = owners.find((owner) => prompt.includes(`TASK ${nameOf(owner)} `));
      const others = owners.filter((owner) => owner !== me);
      if (!me || others.some((owner) => prompt.includes(`fact of ${nameOf(owner)}`))) crossings += 1;
      if (others.some(({ tenant }) => tenant !== me?.tenant && prompt.includes(`shared by ${tenant}`)))
        crossings += 1;
      if (me && prompt.includes(`fact of ${nameOf(me)}`)) seen += 1;
      return commandScript.generate(request, signal);
    },
  };
  const lead = agent({
    name: "lead",
    model,
    permissions: "allow-all",
    extensions: [
      memory({
        blocks: { human: { limit: 20_000 }, project: { limit: 40_000, shared: "tenant" } },
        facts: true,
      }),
    ],
  });
  await using t = testRuntime({ agents: [lead], store: memoryStore(), replay: false });
  const run = async (owner: Owner, n: number): Promise<void> => {
    const fact = `fact of ${nameOf(owner)} ${n}`;
    const orders = [
      ["remember", { key: `page-${n % 20}`, value: fact }],
      ["edit_block", { block: "human", old_text: "", new_text: fact }],
      ["edit_shared_block", { block: "project", old_text: "", new_text: `shared by ${owner.tenant}` }],
      ["recall", { query: "fact of acme globex ada bob" }],
    ] as const;
    const lines = orders.map(([name, input]) => `CALL ${name} ${JSON.stringify(input)}`);
    const task = `TASK ${nameOf(owner)} \n${lines.join("\n")}`;
    expect((await t.run(lead, task, { ...owner, session: `talk-${n}` })).status).toBe("completed");
    operations += orders.length;
  };
  for (let n = 0; n < 63; n += 1) await Promise.all(owners.map((owner) => run(owner, n)));
  expect({ operations, crossings }).toEqual({ operations: 1_008, crossings: 0 });
  expect(seen).toBeGreaterThan(900);
  for (const owner of owners) {
    const facts = await t.runtime.memory.facts(owner);
    expect(facts).toHaveLength(20);
    expect(facts.every(({ value }) => JSON.stringify(value).startsWith(`"fact of ${nameOf(owner)} `))).toBe(
      true,
    );
  }
});
