import { readFileSync } from "node:fs";
import { agent, type Agent, type Json, type Model, tool } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { streamingModel } from "../server/streaming-model.ts";
import { ask, expectShown, reload, siteOf, visit } from "./visit.ts";

const pieces = ["The pump ", "was built ", "in 1987."];
const whole = ["When?", "The pump was built in 1987.", "ready"];

test("the guide shows the page that is tested", () => {
  const page = readFileSync(`${import.meta.dirname}/page/chat.tsx`, "utf8");
  expect(readFileSync("docs/guide/server.md", "utf8")).toContain(page);
});

test("an answer grows on the page while the model streams", async () => {
  const { model, streamNext } = streamingModel(pieces);
  const page = await visit(await siteOf([agent({ name: "writer", model })]), "writer");
  await ask(page, "When?");
  streamNext();
  await expectShown(page, ["When?", "The pump", "streaming"]);
  streamNext();
  await expectShown(page, ["When?", "The pump was built", "streaming"]);
  streamNext();
  await expectShown(page, whole);
  await ask(page, "Really?");
  await expectShown(page, [...whole.slice(0, 2), "Really?", ...whole.slice(1)]);
});

test("the page continues after a connection breaks during an answer, and repeats no text or question", async () => {
  const { model, streamNext, countCalls } = streamingModel(pieces);
  const site = await siteOf([agent({ name: "writer", model })]);
  const page = await visit(site, "writer");
  await ask(page, "When?");
  streamNext();
  await expectShown(page, ["When?", "The pump", "streaming"]);
  site.wire.cut();
  await expectShown(page, ["When?", "The pump", "reconnecting"]);
  site.wire.mend();
  await expectShown(page, ["When?", "The pump", "streaming"]);
  streamNext();
  streamNext();
  await expectShown(page, whole);
  expect(countCalls()).toBe(1);
});

test("an answer that ended during a disconnect is shown whole after the reconnect", async () => {
  const { model, streamNext, countCalls } = streamingModel(pieces);
  const site = await siteOf([agent({ name: "writer", model })]);
  const page = await visit(site, "writer");
  await ask(page, "When?");
  streamNext();
  await expectShown(page, ["When?", "The pump", "streaming"]);
  site.wire.cut();
  streamNext();
  streamNext();
  const statuses = async () => (await site.runtime.runs.list()).items.map(({ status }) => status);
  await expect.poll(statuses).toEqual(["completed"]);
  site.wire.mend();
  await expectShown(page, whole);
  expect(countCalls()).toBe(1);
});

test("a question lost on the network is sent again, once", async () => {
  const { model, streamNext, countCalls } = streamingModel(pieces);
  const site = await siteOf([agent({ name: "writer", model })]);
  const page = await visit(site, "writer");
  site.wire.cut();
  await ask(page, "When?");
  await expectShown(page, ["When?", "reconnecting"]);
  site.wire.mend();
  for (const _ of pieces) streamNext();
  await expectShown(page, whole);
  expect(countCalls()).toBe(1);
});

test("a message with a lost acknowledgement is sent again and counts once", async () => {
  const { model, streamNext, countCalls } = streamingModel(pieces);
  const site = await siteOf([agent({ name: "writer", model })]);
  const page = await visit(site, "writer");
  site.wire.silence();
  await ask(page, "When?");
  await expect.poll(countCalls).toBe(1);
  site.wire.cut();
  await expectShown(page, ["When?", "reconnecting"]);
  site.wire.mend();
  for (const _ of pieces) streamNext();
  await expectShown(page, whole);
  expect(countCalls()).toBe(1);
});

test("a page reloaded during an answer shows the answer from its beginning", async () => {
  const { model, streamNext, countCalls } = streamingModel(pieces);
  const page = await visit(await siteOf([agent({ name: "writer", model })]), "writer");
  await ask(page, "When?");
  streamNext();
  await expectShown(page, ["When?", "The pump", "streaming"]);
  await page.reload();
  await expectShown(page, ["When?", "The pump", "streaming"]);
  streamNext();
  streamNext();
  await expectShown(page, whole);
  await reload(page);
  await expectShown(page, whole);
  expect(countCalls()).toBe(1);
});

/** An agent that asks before it sends an email, and then answers with `concludes`; and the actual sales. */
function emailWriter(concludes: Model = scriptedModel([say("So be it.")])): {
  readonly agent: Agent;
  readonly sent: readonly Json[];
} {
  const sent: Json[] = [];
  const sendEmail = tool({
    name: "send_email",
    description: "Send an email",
    input: z.object({ to: z.string(), price: z.number() }),
    risk: "high",
    execute: async (input) => {
      sent.push(input);
      return "done";
    },
  });
  const first = scriptedModel([call("send_email", { to: "team", price: 12 })]);
  const model: Model = {
    id: "writer",
    generate: (request, options) =>
      (first.requests.length === 0 ? first : concludes).generate(request, options),
  };
  const permissions = { decide: () => "ask" as const };
  return { agent: agent({ name: "writer", model, tools: [sendEmail], permissions }), sent };
}

const question = 'send_email {"to":"team","price":12}: approval-requested Approve Deny';
const sale = 'send_email {"to":"team","price":12}: output-available So be it.';

test("a call that is approved on the page is made, once and as it was shown", async () => {
  const { agent: asks, sent } = emailWriter();
  const page = await visit(await siteOf([asks]), "writer");
  await ask(page, "Send it");
  await expectShown(page, ["Send it", question, "ready"]);
  expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
  expect(sent).toEqual([]);
  await page.getByRole("button", { name: "Approve" }).click();
  await expectShown(page, ["Send it", sale, "ready"]);
  expect(sent).toEqual([{ to: "team", price: 12 }]);
});

test("a call that is denied on the page is not made, and the model gets the denial", async () => {
  const model = scriptedModel([say("So be it.")]);
  const { agent: asks, sent } = emailWriter(model);
  const page = await visit(await siteOf([asks]), "writer");
  await ask(page, "Send it");
  await page.getByRole("button", { name: "Deny" }).click();
  const denied = 'send_email {"to":"team","price":12}: output-denied So be it.';
  await expectShown(page, ["Send it", denied, "ready"]);
  expect(sent).toEqual([]);
  expect(JSON.stringify(model.requests.map(({ messages }) => messages.at(-1)))).toContain("denied");
});

test("a page that is reloaded while a question is open shows it again, and it can be answered once", async () => {
  const { agent: asks, sent } = emailWriter();
  const site = await siteOf([asks]);
  const page = await visit(site, "writer");
  await ask(page, "Send it");
  await expectShown(page, ["Send it", question, "ready"]);
  await reload(page);
  await expectShown(page, ["Send it", question, "ready"]);
  const another = await visit(site, "writer");
  await expectShown(another, ["Send it", question, "ready"]);
  await another.getByRole("button", { name: "Approve" }).click();
  await expectShown(another, ["Send it", sale, "ready"]);
  await page.getByRole("button", { name: "Deny" }).click();
  await expectShown(page, ["Send it", sale, "ready"]);
  expect(sent).toEqual([{ to: "team", price: 12 }]);
});

test("a connection that breaks after an approval: the call is made once, and the answer goes on below it", async () => {
  const { model, streamNext } = streamingModel(["So ", "be it."]);
  const { agent: asks, sent } = emailWriter(model);
  const site = await siteOf([asks]);
  const page = await visit(site, "writer");
  await ask(page, "Send it");
  await page.getByRole("button", { name: "Approve" }).click();
  streamNext();
  const half = sale.replace("be it.", "").trim();
  await expectShown(page, ["Send it", half, "streaming"]);
  site.wire.cut();
  await expectShown(page, ["Send it", half, "reconnecting"]);
  site.wire.mend();
  await expectShown(page, ["Send it", half, "streaming"]);
  streamNext();
  await expectShown(page, ["Send it", sale, "ready"]);
  expect(sent).toEqual([{ to: "team", price: 12 }]);
});

test("an approval lost on the network is asked for again, and the call is made once", async () => {
  const { agent: asks, sent } = emailWriter();
  const site = await siteOf([asks]);
  const page = await visit(site, "writer");
  await ask(page, "Send it");
  await expectShown(page, ["Send it", question, "ready"]);
  site.wire.cut();
  await page.getByRole("button", { name: "Approve" }).click();
  await expectShown(page, ["Send it", question.replace(/requested.*/, "responded"), "reconnecting"]);
  site.wire.mend();
  await expectShown(page, ["Send it", question, "ready"]);
  expect(sent).toEqual([]);
  await page.getByRole("button", { name: "Approve" }).click();
  await expectShown(page, ["Send it", sale, "ready"]);
  expect(sent).toEqual([{ to: "team", price: 12 }]);
});

test("a page of another origin is refused for every kind of request, unless its origin is listed", async () => {
  const { model, streamNext } = streamingModel(pieces);
  const elsewhere = await siteOf([]);
  const site = await siteOf([agent({ name: "writer", model })]);
  const page = await visit(elsewhere, "writer", site);
  await expectShown(page, ["loading"]);
  const fetched = (
    path: string,
    init: { mode?: "no-cors"; method?: string; body?: string; headers?: Record<string, string> },
  ) =>
    page.evaluate(([url, given]) => fetch(url, given).then(String, String), [
      site.origin + path,
      init,
    ] as const);
  const refused = "TypeError: Failed to fetch";
  const headers = { "content-type": "application/json" };
  expect(await fetched("/api/chat/writer", { method: "POST", body: "{}", headers })).toBe(refused);
  // A page need not ask for leave where it does not want to read the answer.
  expect(await fetched("/api/agents", { mode: "no-cors" })).toBe(refused);
  expect(await fetched("/api/chat/writer", { mode: "no-cors", method: "POST", body: "{}" })).toBe(refused);
  await expect
    .poll(() => new Set(site.answers))
    .toEqual(
      new Set([
        "GET /api/chat/writer/pump/messages 403",
        "OPTIONS /api/chat/writer 403",
        "GET /api/agents 403",
        "POST /api/chat/writer 403",
      ]),
    );
  expect((await site.runtime.runs.list()).items).toEqual([]);

  const listing = await siteOf([agent({ name: "writer", model })], { origins: [elsewhere.origin] });
  const listed = await visit(elsewhere, "writer", listing);
  await ask(listed, "When?");
  for (const _ of pieces) streamNext();
  await expectShown(listed, whole);
});
