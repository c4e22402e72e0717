import { agent } from "reeve";
import { call, manualModel, say, scriptedModel } from "reeve/testing";
import { askHuman } from "reeve/tools";
import { expect, test, vi } from "vitest";
import { z } from "zod";
import {
  ada,
  bob,
  root,
  caller,
  other,
  reader,
  emailWriter,
  serve,
  tasks,
  tasksAndForms,
} from "./fixtures/agent-server.ts";
import { patienceMs } from "../effort.ts";

const waitUntil = <T>(found: () => T | Promise<T>) =>
  vi.waitUntil(found, { timeout: patienceMs(), interval: 5 });

test("a long call is a task with the tree's id, until it has the result", async () => {
  const model = manualModel();
  const output = z.object({ people: z.number() });
  await using server = await serve([agent({ name: "slow", model, output })]);
  const client = caller(server.url, root);
  const created = await client.begin("slow");
  expect(created).toMatchObject({ resultType: "task", status: "working", ttlMs: null });
  expect(created["pollIntervalMs"]).toBeGreaterThanOrEqual(500);
  const id = z.string().parse(created["taskId"]);
  expect(await client.get(id)).toMatchObject({ resultType: "complete", taskId: id, status: "working" });
  await waitUntil(() => model.calls.length > 0);
  model.calls[0]?.answer('{"people":134000}');
  await server.runtime.run(id, { tenant: "acme" }).result();
  const done = await client.get(id);
  expect(done).toMatchObject({
    status: "completed",
    createdAt: created["createdAt"],
    result: { structuredContent: { people: 134_000, run: { id, status: "completed" } } },
  });
  expect(Date.parse(z.string().parse(done["lastUpdatedAt"]))).toBeGreaterThan(0);
});

test("a client without the extension gets the run's id, and polls no task", async () => {
  await using server = await serve([agent({ name: "slow", model: manualModel() })]);
  const plain = caller(server.url, root, {});
  const told = await plain.begin("slow");
  expect(told).toMatchObject({
    resultType: "complete",
    structuredContent: { run: { id: expect.any(String) } },
  });
  const taskId = await caller(server.url, root).beginTask("slow");
  for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
    expect((await plain.ask(method, { taskId, inputResponses: {} })).error?.code).toBe(-32_021);
});

test("a run that fails is a completed task with an error result", async () => {
  const model = manualModel();
  await using server = await serve([agent({ name: "slow", model })]);
  const client = caller(server.url, root);
  const id = await client.beginTask("slow");
  await waitUntil(() => model.calls.length > 0);
  model.calls[0]?.fail(new Error("no pumps"));
  await server.runtime.run(id, { tenant: "acme" }).result();
  expect(await client.get(id)).toMatchObject({ status: "completed", result: { isError: true } });
});

test("a task is cancelled with its tree, and a second cancel has no effect", async () => {
  await using server = await serve([agent({ name: "slow", model: manualModel() })]);
  const client = caller(server.url, root);
  const taskId = await client.beginTask("slow");
  for (let round = 0; round < 2; round += 1)
    expect((await client.ask("tasks/cancel", { taskId })).result).toMatchObject({ resultType: "complete" });
  expect(await client.get(taskId)).toMatchObject({ status: "cancelled" });
  expect(await server.runtime.run(taskId, { tenant: "acme" }).status()).toBe("cancelled");
});

test("a task of another tenant, another user or another agent does not exist", async () => {
  const slow = agent({ name: "slow", model: manualModel() });
  const hidden = agent({ name: "hidden", model: manualModel() });
  await using server = await serve([slow], { others: [hidden] });
  const mine = await caller(server.url, ada).beginTask("slow");
  const { treeId } = await server.runtime.start(hidden, "go", { tenant: "acme" });
  const unknown = { error: { code: -32_602, message: "no such task" } };
  const tries = [
    [other, mine],
    [bob, mine],
    [root, treeId],
    [root, "no-such-tree"],
    [root, "../etc"],
  ] as const;
  for (const [key, taskId] of tries)
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
      expect(await caller(server.url, key).ask(method, { taskId, inputResponses: {} })).toEqual(unknown);
  expect(await caller(server.url, ada).get(mine)).toMatchObject({ status: "working" });
  expect((await caller(server.url, root).get(mine))["status"]).toBe("working");
  expect((await caller(server.url, reader).send("tasks/get", { taskId: mine })).status).toBe(403);
});

test("a caller with an approving key decides a question, once", async () => {
  await using server = await serve([emailWriter()], { waitS: 20 });
  const client = caller(server.url, root, tasksAndForms);
  const created = await client.begin("writer");
  expect(created).toMatchObject({ resultType: "task", status: "input_required" });
  expect(created).not.toHaveProperty("inputRequests");
  const taskId = z.string().parse(created["taskId"]);
  const { inputRequests } = await client.get(taskId);
  const [[key, request] = ["", null]] = Object.entries(
    z.record(z.string(), z.unknown()).parse(inputRequests),
  );
  expect(request).toMatchObject({
    method: "elicitation/create",
    params: {
      message: expect.stringContaining('{"what":"paper"}'),
      requestedSchema: { properties: { decision: { enum: ["approved", "denied"] } }, required: ["decision"] },
    },
  });
  const update = (response: object, as = client) =>
    as.ask("tasks/update", { taskId, inputResponses: { [key]: response } });
  const accept = { action: "accept", content: { decision: "approved" } };
  expect((await update({ action: "accept" })).error?.message).toContain("content.decision must be");
  expect((await update({ action: "cancel" })).result).toBeDefined();
  expect(await client.get(taskId)).toMatchObject({ status: "input_required" });
  expect((await update(accept)).result).toMatchObject({ resultType: "complete" });
  expect((await update({ action: "decline" })).result).toBeDefined();
  const { output } = await server.runtime.run(taskId, { tenant: "acme" }).result();
  expect(output).toBe("sent");
  expect(await client.get(taskId)).toMatchObject({ result: { content: [{ text: "sent" }] } });
});

test("a question that the caller may not or cannot answer is reported as running work", async () => {
  await using server = await serve([emailWriter()], { waitS: 20 });
  const weak = caller(server.url, ada, tasksAndForms);
  const taskId = await weak.beginTask("writer");
  const waits = { status: "working", statusMessage: "the run waits for a person's decision" };
  expect(await weak.get(taskId)).toMatchObject(waits);
  expect(await caller(server.url, root, tasks).get(taskId)).toMatchObject(waits);
  expect(await caller(server.url, root, tasksAndForms).get(taskId)).toMatchObject({
    status: "input_required",
  });
  const [question] = await server.runtime.run(taskId, { tenant: "acme" }).approvals();
  const inputResponses = {
    [question?.id ?? ""]: { action: "accept", content: { decision: "approved" } },
  };
  const refused = await weak.ask("tasks/update", { taskId, inputResponses });
  expect(refused.error?.message).toContain("lacks the scope approve");
});

test("the questions of a tool are forms, and their answers reach it", async () => {
  const fields = [
    { name: "city", type: "text" },
    { name: "days", type: "integer", min: 1, max: 9, optional: true },
    { name: "meals", type: "list", choices: ["lunch", "dinner"] },
  ];
  const model = scriptedModel([
    call("ask_human", { question: "When?", choices: ["Monday", "Friday"] }),
    call("ask_human", { question: "Where?", fields }),
    say("planned"),
  ]);
  await using server = await serve([agent({ name: "planner", model, tools: [askHuman()] })]);
  const client = caller(server.url, root, tasksAndForms);
  const taskId = await client.beginTask("planner");
  const form = z.record(z.string(), z.object({ params: z.unknown() }));
  const answer = async (content: object) => {
    const [[key, { params }] = ["", { params: null }]] = await waitUntil(async () => {
      const { inputRequests = {} } = await client.get(taskId);
      const open = Object.entries(form.parse(inputRequests));
      return open.length > 0 ? open : null;
    });
    const inputResponses = { [key]: { action: "accept", content } };
    expect((await client.ask("tasks/update", { taskId, inputResponses })).error).toBeUndefined();
    return params;
  };
  expect(await answer({ answer: "Friday" })).toMatchObject({
    message: "When?",
    requestedSchema: { properties: { answer: { enum: ["Monday", "Friday"] } } },
  });
  expect(await answer({ city: "Rome", meals: ["lunch"] })).toMatchObject({
    message: "Where?",
    requestedSchema: {
      properties: {
        city: { type: "string", minLength: 1 },
        days: { type: "integer", minimum: 1, maximum: 9 },
        meals: { type: "array", items: { enum: ["lunch", "dinner"] } },
      },
      required: ["city", "meals"],
    },
  });
  await server.runtime.run(taskId, { tenant: "acme" }).result();
  const shown = JSON.stringify(model.requests.at(-1)?.messages);
  expect(shown).toContain("Friday");
  expect(shown).toContain("Rome");
});

test("an error of the server is not an answer: the request fails, and the client may ask again", async () => {
  await using server = await serve([agent({ name: "slow", model: manualModel() })]);
  const client = caller(server.url, root);
  const taskId = await client.beginTask("slow");
  await server.runtime[Symbol.asyncDispose]();
  const response = await client.send("tasks/cancel", { taskId });
  expect(response.status).toBeGreaterThanOrEqual(500);
  expect(server.errors).toHaveLength(1);
});
