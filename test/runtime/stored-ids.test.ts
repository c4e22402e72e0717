import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime, type Agent } from "reeve";
import { IdConflictError } from "#kernel";
import type { Runtime } from "#runtime";
import { sqliteStore } from "reeve/stores/sqlite";
import { say, scriptedModel, type ScriptedModel } from "reeve/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAll } from "./read-all.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "reeve-stored-ids-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Process {
  readonly runtime: Runtime;
  readonly writer: Agent<string>;
  readonly model: ScriptedModel;
}

/** Runs a body on a local engine of its own, over a file that outlives it: as a process that starts and ends. */
async function inProcess(file: string, body: (process: Process) => Promise<void>): Promise<void> {
  await using store = await sqliteStore({ path: join(folder, file) });
  const model = scriptedModel([say("one"), say("two")]);
  const writer = agent({ name: "writer", model });
  await using runtime = createRuntime({ agents: [writer], store });
  await body({ runtime, writer, model });
}

test("5.1 an id that an earlier process has used is refused, and nothing of it runs again", async () => {
  await inProcess("twice.db", async ({ runtime, writer }) => {
    const run = await runtime.start(writer, "go", { id: "job", tenant: "acme" });
    await readAll(run.events());
  });
  await inProcess("twice.db", async ({ runtime, writer, model }) => {
    const sameTerms = runtime.start(writer, "go", { id: "job", tenant: "acme" });
    await expect(sameTerms).rejects.toThrow(IdConflictError);
    await expect(sameTerms).rejects.toMatchObject({ id: "job", isOfOtherProcess: true });
    const inTurn = runtime.start(writer, "more", { id: "job", tenant: "acme", session: "talk" });
    await expect(inTurn).rejects.toMatchObject({ code: "id-conflict", isOfOtherProcess: true });
    expect(model.requests).toEqual([]);
    expect((await runtime.steps("job~0", { tenant: "acme" })).items).toHaveLength(1);
    // Another tenant's tree of that id is another tree.
    const other = await runtime.start(writer, "go", { id: "job", tenant: "other" });
    expect((await other.result()).output).toBe("one");
  });
});

test("a process goes on with its own trees by their ids, also when the store knows them", async () => {
  await inProcess("own.db", async ({ runtime, writer, model }) => {
    const run = await runtime.start(writer, "go", { id: "job" });
    await readAll(run.events());
    expect((await runtime.runs.list()).items).toHaveLength(1);
    const again = await runtime.start(writer, "go", { id: "job" });
    expect(await again.result()).toEqual(await run.result());
    await expect(runtime.start(writer, "other", { id: "job" })).rejects.toMatchObject({
      code: "id-conflict",
      isOfOtherProcess: false,
    });
    expect(model.requests).toHaveLength(1);
  });
});
