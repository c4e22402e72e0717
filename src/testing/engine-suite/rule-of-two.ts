import assert from "node:assert/strict";
import { allowAll, permissions } from "#agents";
import { Json, type Agent, type Labels } from "#kernel";
import { agentOf, eventually, onRuntime, type EngineCase } from "./harness.ts";
import { historyOf, only } from "./history.ts";
import {
  calls,
  desk,
  unrestrictedAgent,
  labelCase,
  refusal,
  assertMailRefused,
  assertMailSent,
  type Desk,
} from "./label-desk.ts";

/** Mails before and after it has seen both. */
const agentMailingTwice = (
  made: Desk,
  policy: Agent["policy"] = { permissions: allowAll },
  name = "editor",
): Agent =>
  agentOf(name, async (ctx) => calls(ctx, "mail", "read_web", "read_secret", "mail", "mail"), {
    tools: made.tools,
    policy,
  });

/** Untrusted content must not move private content out. */
export const ruleOfTwoCases: readonly EngineCase[] = [
  labelCase(
    "7.5 untrusted or private content alone does not hold a call",
    (made) => [
      unrestrictedAgent("editor", made, async (ctx) => {
        const page = await ctx.spawn(
          unrestrictedAgent("writer", made, async () => null),
          "web",
        );
        const other = await ctx.spawn(
          unrestrictedAgent("writer", made, async () => null),
          "secret",
        );
        const [one, two] = await Promise.all([ctx.join(page), ctx.join(other)]);
        return [one.output, two.output];
      }),
      unrestrictedAgent("writer", made, async (ctx, inbox) =>
        calls(ctx, `read_${(await inbox.next())?.text}`, "mail"),
      ),
    ],
    (output, { mailed }) => {
      assert.deepEqual(output, ["sent", "sent"]);
      assert.equal(mailed.length, 2);
    },
  ),
  labelCase(
    "7.5 untrusted and private content together hold every call that sends data out, with the reason",
    (made) => [
      unrestrictedAgent("editor", made, async (ctx) => [
        await calls(ctx, "read_secret", "read_web", "mail"),
        await calls(ctx, "post"),
        await calls(ctx, "read_secret"),
        Json.of(ctx.labels),
      ]),
    ],
    (output, { mailed }) => {
      const [mail, post, read, labels] = Json.as<readonly [string, string, string, Labels]>(output);
      assert.match(mail, refusal);
      assert.match(mail, /\{ tool: "mail", verdict: "allow", ruleOfTwo: "exempt" \}/);
      assert.match(post, refusal);
      assert.equal(read, "a secret");
      assert.deepEqual([labels.untrusted, labels.private], [true, true]);
      assert.deepEqual(mailed, []);
    },
  ),

  labelCase(
    "7.5 a run's labels survive continueAs, twice",
    (made) => [
      unrestrictedAgent("editor", made, async (ctx) => {
        if (ctx.state === null) {
          await calls(ctx, "read_web");
          return ctx.continueAs(1);
        }
        if (ctx.state === 1) {
          await calls(ctx, "read_secret");
          return ctx.continueAs(2);
        }
        return calls(ctx, "mail");
      }),
    ],
    assertMailRefused,
  ),
  labelCase(
    "7.5 a run's labels survive crashes, and nothing is read again",
    (made) => {
      let crashes = 0;
      const editor = unrestrictedAgent("editor", made, async (ctx) => {
        if (ctx.state === null) {
          await calls(ctx, "read_web");
          return ctx.continueAs(1);
        }
        await calls(ctx, "read_secret");
        if (crashes < 2) {
          crashes += 1;
          throw new Error("crash");
        }
        return calls(ctx, "mail");
      });
      return [editor];
    },
    (output, made) => {
      assertMailRefused(output, made);
      assert.deepEqual(made.read, ["web", "secret"]);
    },
  ),
  labelCase(
    "7.5 a step states its labels, and so does the caller that starts a tree",
    (made) => [
      unrestrictedAgent("editor", made, async (ctx) => {
        await ctx.step("fetch", () => "a page", { labels: { untrusted: true } });
        await ctx.step("read", () => "a secret", { labels: { private: true } });
        return calls(ctx, "mail");
      }),
    ],
    assertMailRefused,
  ),
  {
    name: "7.5 an untrusted input labels the run from its start, and the result has the labels",
    async run(harness) {
      const made = desk();
      const editor = unrestrictedAgent("editor", made, async (ctx) => calls(ctx, "read_secret", "mail"));
      await onRuntime(harness, { agents: [editor] }, async (runtime) => {
        const run = await runtime.start(editor, "a stranger's mail", { labels: { untrusted: true } });
        const { output, labels } = await run.result();
        assertMailRefused(output, made);
        assert.deepEqual(
          labels?.sources?.map(({ kind, name, untrusted }) => [kind, name, untrusted]),
          [
            ["input", "message", true],
            ["tool", "read_secret", false],
          ],
        );
        const plain = await (await runtime.start(editor, "go")).result();
        assertMailSent(plain.output, made);
        assert.deepEqual([plain.labels?.untrusted, plain.labels?.private], [false, true]);
      });
    },
  },

  ...(["message", "signal"] as const).map((way): EngineCase => ({
    name: `7.5 a ${way} from outside may also be untrusted`,
    async run(harness) {
      const made = desk();
      const editor = unrestrictedAgent("editor", made, async (ctx, inbox) => {
        await inbox.next();
        await (way === "signal" ? ctx.waitFor("news") : inbox.next({ waitS: 30 }));
        return calls(ctx, "read_secret", "mail");
      });
      await onRuntime(harness, { agents: [editor] }, async (runtime) => {
        const run = await runtime.start(editor, "go");
        const labels = { untrusted: true };
        if (way === "signal") await run.signal("news", "from a stranger", { labels });
        else await run.send("from a stranger", { labels });
        assertMailRefused((await run.result()).output, made);
      });
    },
  })),
  {
    name: "7.5 with a human approver a call under the rule of two waits for approval; a remembered approval does not cover it",
    async run(harness) {
      const made = desk();
      const editor = agentMailingTwice(made, {});
      await onRuntime(harness, { agents: [editor], approver: "human" }, async (runtime) => {
        const run = await runtime.start(editor, "go");
        const asked = async (number: number): Promise<string> => {
          await eventually("it asks", async () => (await run.approvals()).length >= number);
          return (await run.approvals())[number - 1]?.id ?? "";
        };
        await run.approve(await asked(1), { remember: true });
        const second = await asked(2);
        assert.equal(made.mailed.length, 1);
        const [first, held] = await run.approvals();
        assert.deepEqual([first?.ruleOfTwo, held?.ruleOfTwo], [undefined, true]);
        assert.match(
          held?.why ?? "",
          /untrusted and private content \(untrusted: tool read_web; private: tool read_secret\)$/,
        );
        await run.approve(second, { remember: true });
        assert.equal((await run.result()).output, "sent");
        assert.equal(made.mailed.length, 3);
      });
    },
  },
  {
    name: "7.5 a rule may exempt a tool, and each use is in the stream; rules from above exempt nothing",
    async run(harness) {
      const made = desk();
      const rule = { tool: "mail", verdict: "allow", ruleOfTwo: "exempt" } as const;
      const editor = agentMailingTwice(made, { permissions: permissions([rule]) });
      const strict = agentMailingTwice(made, undefined, "strict");
      await onRuntime(harness, { agents: [editor, strict] }, async (runtime) => {
        const run = await runtime.start(editor, "go");
        assertMailSent((await run.result()).output, { ...made, mailed: made.mailed.slice(0, 1) });
        assert.equal(made.mailed.length, 3);
        const trips = only(await historyOf(run), "guardrail.trip");
        assert.deepEqual(
          trips.map(({ guardrail, decision }) => [guardrail, decision]),
          [
            ["rule-of-two", "allow"],
            ["rule-of-two", "allow"],
          ],
        );
        const above = await runtime.start(strict, "go", { permissions: [rule] });
        assert.match(Json.as<string>((await above.result()).output), refusal);
      });
    },
  },
  {
    name: "7.5 a runtime can turn the rule of two off",
    async run(harness) {
      const made = desk();
      const editor = agentMailingTwice(made);
      await onRuntime(harness, { agents: [editor], ruleOfTwo: "off" }, async (runtime) => {
        assert.equal((await (await runtime.start(editor, "go")).result()).output, "sent");
        assert.equal(made.mailed.length, 3);
      });
    },
  },
];
