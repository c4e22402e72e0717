import assert from "node:assert/strict";
import { Supervision, type Agent, type RunContext, type RunMeta, type RunScope } from "#kernel";
import { currentScope } from "#runtime";
import { agentOf, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";

/** Section 1: supervision. */
export const supervisionCases: readonly EngineCase[] = [
  {
    name: "1.1 reading the result of an unknown run is refused at once",
    async run(harness) {
      const lead = agentOf("lead", async () => "done");
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const { treeId } = await runtime.start(lead, "go");
        for (const run of ["no-such-tree~0", `${treeId}~1`])
          await assert.rejects(runtime.run(run).result(), { code: "not-found" });
      });
    },
  },
  {
    name: "1.1 a child shares tree, session and spawn budget with its parent and reports to it, one level deeper",
    async run(harness) {
      const seen: Record<string, Supervision> = {};
      const child = agentOf("child", async (ctx) => {
        seen["child"] = ctx.supervision;
      });
      const lead = agentOf("lead", async (ctx) => {
        seen["lead"] = ctx.supervision;
        await ctx.join(await ctx.spawn(child, "work", { priority: "high" }));
      });
      await onRuntime(harness, { agents: [lead, child] }, async (runtime) => {
        await (await runtime.start(lead, "go", { spawn: { maxAgents: 7 }, session: "talk" })).result();
      });
      const { lead: parent, child: writer } = seen;
      assert.ok(parent && writer);
      assert.deepEqual([writer.treeId, writer.sessionId], [parent.treeId, "talk"]);
      assert.deepEqual(writer.spawnBudget, { maxAgents: 7, allowPreempt: true });
      assert.deepEqual([parent.depth, writer.depth], [0, 1]);
      assert.deepEqual([parent.parentId, writer.parentId, writer.parentRunId], [null, lead.id, parent.runId]);
      assert.deepEqual([parent.retention, writer.retention], ["permanent", "run"]);
      assert.deepEqual([parent.priority, writer.priority], ["normal", "high"]);
    },
  },
  {
    name: "1.6 the scope is readable anywhere inside a run, steps included, and children inherit it",
    async run(harness) {
      const scopes: (RunScope | null)[] = [];
      const child = agentOf("child", async (ctx) => {
        await ctx.step("look", () => void scopes.push(currentScope()));
      });
      const lead = agentOf("lead", async (ctx) => {
        scopes.push(currentScope());
        await ctx.join(await ctx.spawn(child, "work"));
      });
      await onRuntime(harness, { agents: [lead, child] }, async (runtime) => {
        const options = { tenant: "acme", user: "ada", channel: "slack", metadata: { plan: "pro" } };
        await (await runtime.start(lead, "go", options)).result();
      });
      for (const scope of scopes) {
        assert.deepEqual([scope?.tenantId, scope?.userId, scope?.channel], ["acme", "ada", "slack"]);
        assert.deepEqual(scope?.metadata, { plan: "pro" });
      }
      assert.equal(new Set(scopes.map((scope) => scope?.runId)).size, 2);
      assert.equal(currentScope(), null);
    },
  },
  {
    name: "1.1 a root has permanent retention, normal priority, no execution limit and at most 50 agents",
    async run(harness) {
      const seen: { root?: Supervision } = {};
      const lead = agentOf("lead", async (ctx) => {
        seen.root = ctx.supervision;
      });
      await onRuntime(harness, { agents: [lead] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        await run.result();
        assert.equal(seen.root?.treeId, run.treeId);
      });
      const { root } = seen;
      assert.ok(root && Supervision.isRoot(root));
      assert.deepEqual([root.retention, root.priority, root.executionBudget], ["permanent", "normal", {}]);
      assert.deepEqual(root.spawnBudget, { maxAgents: 50, allowPreempt: true });
    },
  },
  {
    name: "1.1 a child inherits its parent's execution budget unless it is given one, and never its priority",
    async run(harness) {
      const seen: Record<string, Supervision> = {};
      const writer = agentOf("writer", async (ctx, inbox) => {
        const task = await inbox.next();
        seen[task?.text ?? ""] = ctx.supervision;
      });
      const limits = { maxTokens: 500, deadlineS: 60 };
      const lead = agentOf(
        "lead",
        async (ctx) => {
          await ctx.join(await ctx.spawn(writer, "plain"));
          await ctx.join(await ctx.spawn(writer, "narrow", { budget: { maxTokens: 7 } }));
        },
        { budget: limits, priority: "critical" },
      );
      await onRuntime(harness, { agents: [lead, writer] }, async (runtime) => {
        await (await runtime.start(lead, "go")).result();
      });
      assert.deepEqual(seen["plain"]?.executionBudget, limits);
      assert.deepEqual(seen["narrow"]?.executionBudget, { maxTokens: 7 });
      assert.deepEqual([seen["plain"]?.priority, seen["narrow"]?.priority], ["normal", "normal"]);
    },
  },
  {
    name: "1.2 only the number of agents limits depth",
    async run(harness) {
      const depths = new Set<number>();
      const researcher: Agent = agentOf("researcher", async (ctx) => {
        const { depth } = ctx.supervision;
        depths.add(depth);
        if (depth === 24) return depth;
        return (await ctx.join(await ctx.spawn(researcher, "deeper"))).output;
      });
      await onRuntime(harness, { agents: [researcher] }, async (runtime) => {
        const { output } = await (
          await runtime.start(researcher, "dig", { spawn: { maxAgents: 25 } })
        ).result();
        assert.equal(output, 24);
      });
      assert.equal(depths.size, 25);
    },
  },
  {
    name: "1.3 an emit without a topic goes to the tree's one progress topic and into its stream",
    async run(harness) {
      const reporter = agentOf("reporter", async (ctx, inbox) => {
        await inbox.next();
        // Publishes repeatedly until a subscriber has received it.
        while (!(await inbox.next({ waitS: 0.02 }))) await ctx.emit({ done: 7 });
      });
      const lead = agentOf("lead", async (ctx) => {
        const handle = await ctx.spawn(reporter, "report");
        for await (const { data } of ctx.subscribe(Supervision.progressTopic(ctx.supervision))) {
          await ctx.send(handle, "heard");
          await ctx.join(handle);
          return data ?? null;
        }
        return "nothing heard";
      });
      await onRuntime(harness, { agents: [lead, reporter] }, async (runtime) => {
        const run = await runtime.start(lead, "go");
        assert.deepEqual((await run.result()).output, { done: 7 });
        const reports = only(await historyOf(run), "progress.emitted");
        assert.ok(reports.length > 0);
        for (const report of reports) {
          assert.deepEqual([report.topic, report.data], [`agent.progress/${run.treeId}`, { done: 7 }]);
          assert.equal(report.agent, reporter.id);
        }
      });
    },
  },
  {
    name: "1.4 supervision and badge are frozen plain data; a tree has one trace, each run its own span",
    async run(harness) {
      const badges = new Map<string, RunMeta>();
      const look = (ctx: RunContext): readonly boolean[] => {
        badges.set(ctx.supervision.runId, ctx.meta);
        const { supervision, meta } = ctx;
        const parts = [supervision, supervision.spawnBudget, supervision.executionBudget, meta, meta.scope];
        return parts.map((part) => Object.isFrozen(part));
      };
      const child = agentOf("child", async (ctx) => look(ctx));
      const lead = agentOf("lead", async (ctx) => [
        look(ctx),
        (await ctx.join(await ctx.spawn(child, "work"))).output,
      ]);
      await onRuntime(harness, { agents: [lead, child] }, async (runtime) => {
        const { output } = await (await runtime.start(lead, "go")).result();
        assert.deepEqual(
          output,
          Array.from({ length: 2 }, () => Array.from({ length: 5 }, () => true)),
        );
      });
      const metas = [...badges.values()];
      for (const { supervision, tenantId, scope } of metas) {
        assert.deepEqual(JSON.parse(JSON.stringify(supervision)), supervision);
        assert.deepEqual([tenantId, scope?.tenantId, scope?.userId], [null, null, null]);
      }
      assert.equal(new Set(metas.map(({ traceId }) => traceId)).size, 1);
      assert.equal(new Set(metas.map(({ spanId }) => spanId)).size, 2);
    },
  },
];
