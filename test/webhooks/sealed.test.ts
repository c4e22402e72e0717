import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, createRuntime } from "reeve";
import { environmentKeys } from "reeve/store";
import { sqliteStore } from "reeve/stores/sqlite";
import { say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { loopbackSettings, openReceiver } from "./receiver.ts";

test("with keys, the database has neither the URL nor a secret of a webhook, and deliveries still work", async () => {
  const folder = await mkdtemp(join(tmpdir(), "reeve-webhooks-"));
  const secrets: string[] = [];
  await using receiver = await openReceiver({ secrets: () => secrets });
  const lead = agent({ name: "lead", model: scriptedModel([say("done")]) });
  const store = await sqliteStore({ path: join(folder, "store.db") });
  const keys = environmentKeys({ REEVE_KEY: Buffer.alloc(32, 7).toString("base64") });
  const runtime = createRuntime({ agents: [lead], store, keys, webhooks: loopbackSettings });
  const url = `${receiver.url}canary-of-a-path`;
  const { secret = "" } = await runtime.webhooks.set({ id: "hook", url, tenant: "acme" });
  secrets.push(secret);
  const arrived = receiver.waitForCount(1);
  await (await runtime.start(lead, "go", { id: "t1", tenant: "acme" })).result();
  await arrived;
  secrets.push((await runtime.webhooks.rotateSecret("hook", { tenant: "acme" })).secret);
  expect((await runtime.webhooks.get("hook", { tenant: "acme" }))?.url).toBe(url);
  await runtime[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  const files = await Promise.all(
    (await readdir(folder)).map((name) => readFile(join(folder, name), "latin1")),
  );
  const stored = files.join("\n");
  expect(stored).toContain("reeve_webhook");
  for (const text of ["canary-of-a-path", ...secrets.map((each) => each.slice("whsec_".length))])
    expect(stored).not.toContain(text);
  await rm(folder, { recursive: true });
});
