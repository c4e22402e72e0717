import { type Agent, AgentId, Json, type NumberedEvent } from "reeve";
import { expect, test } from "vitest";
import { TreeModel, type TreeSnapshot } from "../../src/view/index.ts";
import { codeOf } from "./ask.ts";
import { closing } from "./closing.ts";
import { counter, TestServer } from "./test-server.ts";
import { speakingAgent, speaker } from "./speaker.ts";
import { type Message, Subscription } from "./sse.ts";

interface Live {
  readonly stream: Subscription;
  readonly id: string;
}

async function openLive(site: TestServer, query = "", lastEventId?: string): Promise<Live> {
  const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const stream = await Subscription.to(`${site.url}/live${query}`, { key: site.keys.acme.content, headers });
  const [opened] = await stream.readUntil(has("opened"));
  return { stream, id: dataOf<{ id: string }>(opened).id };
}

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- data enters here
const dataOf = <Data>(message: Message | undefined): Data => Json.as<Data>(JSON.parse(message?.data ?? "{}"));

interface TreeData {
  readonly tree: string;
  readonly events: readonly NumberedEvent[];
}

const has =
  (event: string) =>
  (messages: readonly Message[]): boolean =>
    messages.some((message) => message.event === event);

/** Returns the numbers of a tree's events, in order of arrival. */
const numbersOf = (messages: readonly Message[], tree: string): readonly number[] =>
  messages
    .filter(({ event }) => event === "tree")
    .map((message) => dataOf<TreeData>(message))
    .filter((each) => each.tree === tree)
    .flatMap(({ events }) => events.map(({ seq }) => seq));

const tellsOf = (name: string) => (messages: readonly Message[]) =>
  messages.some(({ event, data }) => event === "runs" && data.includes(`"${name}"`));

const speak = (): { name: string; id: string } => ({ name: "speak", id: crypto.randomUUID() });

const numbersUpTo = (last: number): readonly number[] =>
  Array.from({ length: last }, (_, index) => index + 1);

const start = (site: TestServer, id: string, agentName = "counter"): Promise<unknown> =>
  site.post("/runs", { agent: agentName, input: "count", id });

async function count(site: TestServer, id: string, to: number): Promise<void> {
  const body = { name: "count", data: to, id: crypto.randomUUID() };
  expect((await site.post(`/runs/${id}/signal`, body)).status).toBe(200);
}

const lastSeqOf = async (site: TestServer, id: string): Promise<number> => {
  let last = 0;
  for await (const { seq } of site.runtime.run(id, { tenant: "acme" }).events()) last = seq;
  return last;
};

test("one stream has changed runs, waiting approvals, and the trees it watches", async () => {
  const site = closing(await TestServer.open());
  const { stream, id } = await openLive(site);
  await stream.readUntil(has("approvals"));
  expect(dataOf(stream.messages.find(({ event }) => event === "approvals"))).toEqual({
    count: 0,
    newest: null,
  });
  await start(site, "first");
  await start(site, "second");
  await start(site, "field", "writer");
  for (const name of ["first", "second", "field"]) await stream.readUntil(tellsOf(name));
  await stream.readUntil((messages) =>
    messages.some(({ event, data }) => event === "approvals" && data.includes('"count":1')),
  );
  await stream.readUntil((messages) =>
    messages.some(({ event, data }) => event === "runs" && data.includes('"asks":1')),
  );
  const reply = await site.post(
    `/live/${id}`,
    { trees: [{ tree: "first" }, { tree: "second", after: 0 }] },
    { key: site.keys.acme.content },
  );
  expect(reply.status).toBe(200);
  const { views } = Json.as<{ views: TreeSnapshot[] }>(reply.json);
  const [view] = views;
  if (!view) throw new Error("there is a view");
  expect(views.map(({ treeId }) => treeId)).toEqual(["first"]);
  await count(site, "first", 5);
  await count(site, "second", 5);
  await stream.readUntil((messages) => messages.filter(({ event }) => event === "end").length === 2);
  const [first, second] = [await lastSeqOf(site, "first"), await lastSeqOf(site, "second")];
  const from = view.seq;
  expect(numbersOf(stream.messages, "first")).toEqual(numbersUpTo(first).slice(from));
  expect(numbersOf(stream.messages, "second")).toEqual(numbersUpTo(second));
  // The view and the rest are the whole tree.
  const model = TreeModel.from(view);
  for (const message of stream.messages.filter(({ event }) => event === "tree"))
    for (const event of dataOf<TreeData>(message).events) if (event.treeId === "first") model.apply(event);
  expect(model.view?.root.status).toBe("completed");
  await stream.drop();
});

test("a reconnected stream continues every tree after its last event", async () => {
  const site = closing(await TestServer.open());
  await start(site, "a,b:1");
  await start(site, "c");
  const query = `?trees=${encodeURIComponent(`${encodeURIComponent("a,b:1")},c:0`)}`;
  const { stream } = await openLive(site, query);
  await stream.readUntil((messages) => ["a,b:1", "c"].every((tree) => numbersOf(messages, tree).length > 0));
  const before = [...stream.messages];
  await stream.drop();
  const lastId = before.findLast(({ id }) => id !== null)?.id ?? "";
  await count(site, "a,b:1", 3);
  await count(site, "c", 3);
  const { stream: again } = await openLive(site, query, lastId);
  await again.readUntil((messages) => messages.filter(({ event }) => event === "end").length === 2);
  for (const tree of ["a,b:1", "c"]) {
    const seen = [...numbersOf(before, tree), ...numbersOf(again.messages, tree)];
    expect(seen).toEqual(numbersUpTo(await lastSeqOf(site, tree)));
  }
  await again.drop();
});

test("a tree that is no longer watched sends nothing, and one that is watched twice sends each event once", async () => {
  const site = closing(await TestServer.open());
  await start(site, "kept");
  await start(site, "left");
  const { stream, id } = await openLive(site, "?trees=kept,left");
  await stream.readUntil((messages) =>
    ["kept", "left"].every((tree) => numbersOf(messages, tree).length > 0),
  );
  const key = site.keys.acme.content;
  const told = numbersOf(stream.messages, "left").length;
  await site.post(`/live/${id}`, { trees: [{ tree: "kept", after: 0 }] }, { key });
  await count(site, "left", 3);
  await lastSeqOf(site, "left");
  await count(site, "kept", 3);
  await stream.readUntil(has("end"));
  expect(numbersOf(stream.messages, "left")).toHaveLength(told);
  expect(numbersOf(stream.messages, "kept")).toEqual(numbersUpTo(await lastSeqOf(site, "kept")));
  await stream.drop();
});

test("only the named run's pieces of answers are sent, merged", async () => {
  const [said, unheard] = [speaker(), speaker()];
  const other: Agent = { ...speakingAgent(unheard.model), id: AgentId.of("other") };
  const site = closing(await TestServer.open({ agents: [speakingAgent(said.model), other] }));
  await start(site, "talk", "speaker");
  await start(site, "other", "other");
  const { stream } = await openLive(site, "?deltas=talk~0");
  for (const name of ["talk", "other"]) await site.post(`/runs/${name}/signal`, speak());
  await Promise.all([said.asked, unheard.asked]);
  for (const piece of ["One ", "two ", "three"]) said.say(piece);
  unheard.say("secret");
  await stream.readUntil((messages) =>
    messages.some(({ event, data }) => event === "delta" && data.includes("three")),
  );
  const deltas = stream.messages.filter(({ event }) => event === "delta");
  const items = deltas.flatMap((message) => dataOf<{ items: readonly { text: string }[] }>(message).items);
  expect(items.map(({ text }) => text).join("")).toBe("One two three");
  expect(deltas.length).toBeLessThan(3);
  expect(stream.messages.map(({ data }) => data).join("")).not.toContain("secret");
  await stream.drop();
});

test("a key of another tenant or another key of the tenant can neither read nor change a stream", async () => {
  const site = closing(await TestServer.open());
  await start(site, "mine");
  const { id } = await openLive(site);
  const key = site.keys.rival.admin;
  const rival = await Subscription.to(`${site.url}/live`, { key });
  await rival.readUntil(has("opened"));
  for (const other of [key, site.keys.acme.admin]) {
    const reply = await site.post(`/live/${id}`, { trees: [] }, { key: other });
    expect([reply.status, codeOf(reply)]).toEqual([404, "not-found"]);
  }
  const stolen = await site.get("/live?trees=mine", { key });
  expect([stolen.status, codeOf(stolen)]).toEqual([404, "not-found"]);
  await count(site, "mine", 3);
  const own = await site.post("/runs", { agent: "counter", input: "count", id: "theirs" }, { key });
  expect(own.status).toBe(202);
  await rival.readUntil((messages) => messages.some(({ data }) => data.includes('"theirs"')));
  expect(rival.messages.map(({ data }) => data).join("")).not.toContain('"mine"');
  await rival.drop();
});

test("too many streams of a key, too many trees of a stream and wrong cursors are refused", async () => {
  const limits = { subscribersPerKey: 2, watchedTrees: 2 };
  const site = closing(await TestServer.open({ agents: [counter], limits }));
  const { stream, id } = await openLive(site);
  const { stream: second } = await openLive(site);
  const key = site.keys.acme.content;
  const third = await site.get("/live", { key });
  expect([third.status, codeOf(third)]).toEqual([429, "too-many-requests"]);
  await second.drop();
  for (const name of ["a", "b", "c"]) await start(site, name);
  const trees = ["a", "b", "c"].map((tree) => ({ tree }));
  const many = await site.post(`/live/${id}`, { trees }, { key });
  expect([many.status, many.text]).toEqual([400, expect.stringContaining("at most 2")]);
  for (const query of ["?trees=a,b,c", "?trees=a:x", "?trees=%25zz", "?trees=a:1:2"])
    expect([query, (await site.get(`/live${query}`, { key })).status]).toEqual([query, 400]);
  await stream.drop();
});
