import { type Agent, agent, AgentId, Json, SessionId, UserId } from "reeve";
import { Session } from "reeve/store";
import { apiKeys, createApiKey } from "reeve/server";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { main } from "../../src/cli/program.ts";
import { FakeTerminal } from "./fake-terminal.ts";
import { priced, CliServer } from "./cli-server.ts";

test("a run is shown live, and ends with a receipt and the answer", async () => {
  await using server = await CliServer.open();
  const { code, said } = await server.reeve("run", "writer", "write", "--id", "t1", "--max-cost", "0.5");
  expect(code).toBe(0);
  expect(said).toMatch(
    /^tree t1 · http:\/\/127\.0\.0\.1:\d+\/ui\/runs\/t1\nwriter: started\nwriter: completed: answered/,
  );
  expect(said).toMatch(
    /\ndone\n\n✓ completed: answered\n[^]*\ntotal \$0\.\d{6} · \d+ tokens · 1 agent · .*\n$/,
  );
});

test("a call that needs approval is approved from another terminal", async () => {
  await using server = await CliServer.open();
  const running = server.reeve("run", "lead", "publish", "--id", "t2");
  await server.waitForApproval("t2");
  const why = await server.reeve("why", "t2");
  expect(why.said).toMatch(/^lead: waiting .* for approval of publish\n/);
  expect((await server.reeve("approvals")).said).toMatch(
    /lead wants to call publish · risk high .*\n.*\n {2}report: "heat pumps"\n/,
  );
  expect(await server.reeve("approve", "t2")).toMatchObject({
    code: 0,
    said: expect.stringMatching(/\napproved t2~0:tool:2\n$/),
  });
  const { code, said } = await running;
  expect(code).toBe(0);
  expect(said).toContain("lead: waiting for approval of publish: reeve approve t2~0:tool:2\n");
  expect(said).toContain("lead: approval: approved by loopback\n");
  expect((await server.reeve("deny", "t2~0:tool:2")).code).toBe(5);
  expect((await server.reeve("approve", "t2")).code).toBe(4);
});

test("as JSON every line is an object: each event once, in order, then the result", async () => {
  await using server = await CliServer.open();
  const { said } = await server.reeve("run", "writer", "write", "--id", "t3", "--json");
  const lines = said
    .trimEnd()
    .split("\n")
    .map((line) => Json.as<{ type: string; seq?: number }>(JSON.parse(line)));
  expect(lines[0]).toEqual({ type: "started", treeId: "t3" });
  expect(lines.at(-1)).toMatchObject({ type: "result", status: "completed", output: "done" });
  const seqs = lines.slice(1, -1).map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
});

test("a cancelled run sets the exit code", async () => {
  await using server = await CliServer.open();
  const running = server.reeve("run", "lead", "publish", "--id", "t4");
  await server.waitForApproval("t4");
  expect(await server.reeve("pause", "t4")).toMatchObject({ code: 0 });
  expect((await server.reeve("why", "t4", "--json")).said).toContain('"status":"paused"');
  expect(await server.reeve("resume", "t4")).toMatchObject({ code: 0 });
  expect(await server.reeve("top-up", "t4", "--cost", "1")).toMatchObject({ code: 0 });
  expect(await server.reeve("reprioritize", "t4", "high")).toMatchObject({ said: "t4: priority high\n" });
  const cancelled = await server.reeve("cancel", "t4", "--reason", "wrong report");
  expect(cancelled).toMatchObject({ code: 0, said: "1 run stopped\n" });
  expect((await running).code).toBe(12);
  expect((await server.reeve("why", "t4")).said).toContain('lead was cancelled: reason "wrong report".');
});

test("trees are listed, and shown with their receipt when they are over", async () => {
  await using server = await CliServer.open();
  await server.reeve("run", "writer", "write", "--id", "t5");
  expect((await server.reeve("runs", "--status", "completed")).said).toMatch(/\nt5 +writer +✓ completed/);
  expect((await server.reeve("runs", "--status", "failed")).said).toBe("no runs\n");
  expect((await server.reeve("tree", "t5")).said).toMatch(
    /^✓ completed · .*\nwriter .*\n\n✓ completed: answered\n/,
  );
  const verified = await server.reeve("audit", "verify");
  const head = /^intact: \d+ links?, head (\S+)\n$/.exec(verified.said)?.[1] ?? "";
  expect((await server.reeve("audit", "verify", "--head", head)).code).toBe(0);
  const forged = await server.reeve("audit", "verify", "--head", `999:${head.split(":")[1]}`);
  expect(forged).toMatchObject({ code: 6, said: expect.stringMatching(/^broken at link \d+: truncated\n$/) });
});

test("Ctrl-C detaches at once and leaves the run alone; a second one cancels it", async () => {
  await using server = await CliServer.open();
  const terminal = server.terminal();
  const running = main(["run", "lead", "publish", "--id", "t6"], terminal);
  await server.waitForApproval("t6");
  await expect.poll(() => terminal.interrupt()).toBe(true);
  await expect.poll(() => terminal.complained).toContain("detached; t6 continues");
  expect(await server.runtime.run("t6").status()).toBe("waiting");
  await expect.poll(() => terminal.interrupt()).toBe(true);
  expect(await running).toBe(12);
  expect(await server.runtime.run("t6").status()).toBe("cancelled");
});

test("Ctrl-C alone ends with the code of a detached run", async () => {
  await using server = await CliServer.open();
  const terminal = server.terminal();
  const running = main(["run", "lead", "publish", "--id", "t7"], terminal);
  await server.waitForApproval("t7");
  await expect.poll(() => terminal.interrupt()).toBe(true);
  expect(await running).toBe(130);
  expect(await server.runtime.run("t7").status()).toBe("waiting");
});

test("with --cancel-on-interrupt one Ctrl-C cancels", async () => {
  await using server = await CliServer.open();
  const terminal = server.terminal();
  const running = main(["run", "lead", "publish", "--id", "t8", "--cancel-on-interrupt"], terminal);
  await server.waitForApproval("t8");
  await expect.poll(() => terminal.interrupt()).toBe(true);
  expect(await running).toBe(12);
});

test("on a terminal the tree is redrawn in place, with colours unless NO_COLOR is set", async () => {
  await using server = await CliServer.open();
  const plain = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
  await main(["run", "writer", "write"], plain);
  // oxlint-disable-next-line no-control-regex -- colours are what is looked for
  expect(plain.said).not.toMatch(/\u001B\[\d+m/);
  const bright = server.terminal({ isTTY: true });
  await main(["run", "writer", "write"], bright);
  expect(bright.said).toContain("\u001B[32m✓ completed");
});

test("an agent's output cannot control the terminal", async () => {
  const model = priced(scriptedModel([say("line 1\n  \u001B]0;owned\u0007line 2")]));
  await using server = await CliServer.open({ agents: [agent({ name: "writer", model })] });
  const terminal = server.terminal({ isTTY: true, environment: { NO_COLOR: "1" } });
  await main(["run", "writer", "write"], terminal);
  expect(terminal.said).toContain("line 1\n   ]0;owned line 2\n");
});

test("a run that waits in its code is reported, and woken with a signal", async () => {
  const waiter: Agent = { id: AgentId.of("waiter"), run: async (ctx) => ctx.waitFor("go") };
  await using server = await CliServer.open({ agents: [waiter] });
  const running = server.reeve("run", "waiter", "wait", "--id", "t12");
  await expect
    .poll(async () => (await server.reeve("why", "t12")).said)
    .toMatch(/^waiter: waiting .* for a signal, a message or a time\n[^]*→ reeve signal t12~0 <name>/);
  expect(await server.reeve("signal", "t12", "go", "{by")).toMatchObject({ code: 2 });
  expect(await server.reeve("signal", "t12", "go", '{"by":"ada"}')).toMatchObject({ code: 0 });
  expect((await running).said).toContain('{\n  "by": "ada"\n}\n\n✓ completed: answered');
});

test("a busy conversation names the tree that has the turn; a queued tree is reported", async () => {
  await using server = await CliServer.open();
  const turn = server.reeve("run", "lead", "publish", "--id", "t13", "--session", "talk");
  await server.waitForApproval("t13");
  const busy = await server.reeve("run", "writer", "write", "--session", "talk");
  expect(busy).toMatchObject({
    code: 5,
    complained: expect.stringContaining("→ another tree has its turn: reeve runs --session talk"),
  });
  expect((await server.reeve("runs", "--session", "talk")).said).toMatch(/\nt13 +lead/);
  await server.runtime.start(server.agent("writer"), "write", {
    id: "t14",
    session: "talk",
    onBusy: "queue",
  });
  expect((await server.reeve("why", "t14")).said).toMatch(
    /^t14~0: accepted, not started: another tree has the turn/,
  );
  await server.reeve("approve", "t13");
  expect((await turn).code).toBe(0);
});

test.each([
  [["frob"], 2, "unknown command 'frob'"],
  [["top-up", "t1"], 2, "--cost, --tokens or --turns"],
  [["budget", "set", "--per", "day"], 2, "--max-cost or --max-tokens"],
  [["budget", "set", "--max-cost", "1"], 2, "--per"],
  [["budget", "show"], 2, "key: has no tenant"],
  [["run", "writer", "x", "--max-cost", "much"], 2, "must be a number >= 0"],
  [["tree", "unknown"], 4, "no run unknown~0\n  → list the runs that your key may read: reeve runs\n"],
  [["run", "unknown", "x"], 4, "no agent unknown"],
  [["approve", "not:an:id"], 2, `invalid approval id`],
])("the command %j exits with code %i", async (words, code, complaint) => {
  await using server = await CliServer.open();
  const ended = await server.reeve(...words);
  expect(ended.code).toBe(code);
  expect(ended.complained).toContain(complaint);
});

test("without a server the command prints how to start one, as text or as JSON", async () => {
  const nowhere = { REEVE_URL: "http://127.0.0.1:9" };
  const terminal = new FakeTerminal({ environment: nowhere });
  expect(await main(["runs"], terminal)).toBe(3);
  expect(terminal.complained).toContain(
    "no server answers at http://127.0.0.1:9\n  → start one with `reeve dev",
  );
  const json = new FakeTerminal({ environment: nowhere });
  expect(await main(["runs", "--json"], json)).toBe(3);
  expect(JSON.parse(json.complained)).toMatchObject({ error: { code: "unreachable" } });
});

test("a key comes from the environment; without one the server's refusal is printed", async () => {
  const expiresAt = Date.now() + 60_000;
  const { key, record } = createApiKey({ tenant: "acme", scopes: ["admin"], expiresAt });
  await using server = await CliServer.open({ auth: apiKeys([record]) });
  expect(await server.reeve("runs")).toMatchObject({ code: 5 });
  const terminal = server.terminal({ environment: { REEVE_API_KEY: key } });
  expect(await main(["runs"], terminal)).toBe(0);
});

test("a tenant's budget is set, shown and removed", async () => {
  const expiresAt = Date.now() + 60_000;
  const { key, record } = createApiKey({ tenant: "acme", scopes: ["admin"], expiresAt });
  await using server = await CliServer.open({ auth: apiKeys([record]) });
  const reeve = async (...words: readonly string[]): Promise<string> => {
    const terminal = server.terminal({ environment: { REEVE_API_KEY: key } });
    expect(await main(["budget", ...words], terminal)).toBe(0);
    return terminal.said;
  };
  expect(await reeve("show")).toBe("no budget (unlimited)\n");
  const set = await reeve("set", "--max-cost", "5", "--max-tokens", "1000", "--per", "ever");
  expect(set).toBe(
    "$5.00 in total: $0 spent, $0 held by live trees\n1,000 tokens in total: 0 spent, 0 held by live trees\n",
  );
  expect(await reeve("set", "--user", "ann", "--max-tokens", "9", "--per", "day")).toMatch(
    /^9 tokens per day: 0 spent, 0 held by live trees\nresets at \d{4}-\d\d-\d\dT00:00:00\.000Z\n$/,
  );
  await reeve("remove");
  expect(JSON.parse(await reeve("show", "--json"))).toEqual({ budget: null });
  expect(JSON.parse(await reeve("show", "--user", "ann", "--json"))).toMatchObject({
    budget: { maxTokens: 9 },
  });
});

test.each(["bash", "zsh", "fish"])("completion for %s has every command", async (shell) => {
  const terminal = new FakeTerminal();
  expect(await main(["completion", shell], terminal)).toBe(0);
  for (const name of ["init", "dev", "run", "watch", "top-up", "approve"])
    expect(terminal.said).toContain(name);
});

test("a run is steered, and continues with the last instruction", async () => {
  await using server = await CliServer.open();
  const running = server.reeve("run", "lead", "publish", "--id", "t1");
  await server.waitForApproval("t1");
  expect(await server.reeve("steer", "t1", "publish prices instead")).toMatchObject({
    code: 0,
    said: "t1: reads the message before its next model call\n",
  });
  expect(await server.reeve("follow-up", "t1", "and then report")).toMatchObject({
    code: 0,
    said: "t1: reads the message when it would stop\n",
  });
  await server.reeve("approve", "t1");
  expect((await running).code).toBe(0);
  expect((await server.reeve("steer", "t1", "too late")).code).toBe(5);
});

test("reconciling a call that is not in doubt prints an error", async () => {
  await using server = await CliServer.open();
  await server.reeve("run", "writer", "write", "--id", "t1");
  const words = ["reconcile", "t1", "t1~0:model:1#1", "--input", "10", "--output", "5"];
  expect(await server.reeve(...words)).toEqual({
    code: 5,
    said: "",
    complained: "reeve: attempt t1~0:model:1#1 of t1 is not in doubt\n",
  });
  expect((await server.reeve(...words.slice(0, 5))).complained).toContain("--output <tokens>' not specified");
});

test("sessions with entries are listed", async () => {
  await using server = await CliServer.open();
  expect((await server.reeve("sessions")).said).toBe("no sessions\n");
  const key = { id: SessionId.of("talk"), userId: UserId.of("ann") };
  const session = new Session(server.runtime.store.sessions, { tenantId: null }, key);
  await session.open({ startedAt: new Date(2026, 10, 15, 9).getTime() });
  expect((await server.reeve("sessions", "--user", "ann")).said).toBe(
    "session  user  started\ntalk     ann   2026-11-15 09:00:00\n",
  );
  expect((await server.reeve("sessions", "--user", "bob")).said).toBe("no sessions\n");
});
