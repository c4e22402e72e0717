import { type Agent, AgentId, Json, type NumberedEvent } from "reeve";
import { expect, test } from "vitest";
import { TreeModel, type TreeSnapshot } from "../../src/view/index.ts";
import { codeOf } from "./ask.ts";
import { closing } from "./closing.ts";
import { counter, Estate } from "./estate.ts";
import { orator, speaker } from "./speaker.ts";
import { type Message, Subscription } from "./sse.ts";

interface Live {
  readonly stream: Subscription;
  readonly id: string;
}

async function openLive(estate: Estate, query = "", lastEventId?: string): Promise<Live> {
  const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  const stream = await Subscription.to(`${estate.url}/live${query}`, { key: estate.keys.acme.read, headers });
  const [opened] = await stream.until(has("opened"));
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

const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

const start = (estate: Estate, id: string, agentName = "counter"): Promise<unknown> =>
  estate.post("/runs", { agent: agentName, input: "count", id });

async function count(estate: Estate, id: string, to: number): Promise<void> {
  const body = { name: "count", data: to, id: crypto.randomUUID() };
  expect((await estate.post(`/runs/${id}/signal`, body)).status).toBe(200);
}

const lastOf = async (estate: Estate, id: string): Promise<number> => {
  let last = 0;
  for await (const { seq } of estate.runtime.run(id, { tenant: "acme" }).events()) last = seq;
  return last;
};

test("one stream has changed runs, waiting approvals, and the trees it watches", async () => {
  const estate = closing(await Estate.open());
  const { stream, id } = await openLive(estate);
  await stream.until(has("approvals"));
  expect(dataOf(stream.messages.find(({ event }) => event === "approvals"))).toEqual({
    count: 0,
    newest: null,
  });
  await start(estate, "first");
  await start(estate, "second");
  await start(estate, "field", "steward");
  for (const name of ["first", "second", "field"]) await stream.until(tellsOf(name));
  await stream.until((messages) =>
    messages.some(({ event, data }) => event === "approvals" && data.includes('"count":1')),
  );
  await stream.until((messages) =>
    messages.some(({ event, data }) => event === "runs" && data.includes('"asks":1')),
  );
  const reply = await estate.post(
    `/live/${id}`,
    { trees: [{ tree: "first" }, { tree: "second", after: 0 }] },
    { key: estate.keys.acme.read },
  );
  expect(reply.status).toBe(200);
  const { views } = Json.as<{ views: TreeSnapshot[] }>(reply.json);
  const [view] = views;
  if (!view) throw new Error("there is a view");
  expect(views.map(({ treeId }) => treeId)).toEqual(["first"]);
  await count(estate, "first", 5);
  await count(estate, "second", 5);
  await stream.until((messages) => messages.filter(({ event }) => event === "end").length === 2);
  const [first, second] = [await lastOf(estate, "first"), await lastOf(estate, "second")];
  const from = view.seq;
  expect(numbersOf(stream.messages, "first")).toEqual(upTo(first).slice(from));
  expect(numbersOf(stream.messages, "second")).toEqual(upTo(second));
  // The view and the rest are the whole tree.
  const model = TreeModel.from(view);
  for (const message of stream.messages.filter(({ event }) => event === "tree"))
    for (const event of dataOf<TreeData>(message).events) if (event.treeId === "first") model.apply(event);
  expect(model.view?.root.status).toBe("completed");
  await stream.drop();
});

test("a stream that breaks continues every tree behind its last event", async () => {
  const estate = closing(await Estate.open());
  await start(estate, "a,b:1");
  await start(estate, "c");
  const query = `?trees=${encodeURIComponent(`${encodeURIComponent("a,b:1")},c:0`)}`;
  const { stream } = await openLive(estate, query);
  await stream.until((messages) => ["a,b:1", "c"].every((tree) => numbersOf(messages, tree).length > 0));
  const before = [...stream.messages];
  await stream.drop();
  const lastId = before.findLast(({ id }) => id !== null)?.id ?? "";
  await count(estate, "a,b:1", 3);
  await count(estate, "c", 3);
  const { stream: again } = await openLive(estate, query, lastId);
  await again.until((messages) => messages.filter(({ event }) => event === "end").length === 2);
  for (const tree of ["a,b:1", "c"]) {
    const seen = [...numbersOf(before, tree), ...numbersOf(again.messages, tree)];
    expect(seen).toEqual(upTo(await lastOf(estate, tree)));
  }
  await again.drop();
});

test("a tree that is not watched any more tells nothing, and one that is watched twice tells once", async () => {
  const estate = closing(await Estate.open());
  await start(estate, "kept");
  await start(estate, "left");
  const { stream, id } = await openLive(estate, "?trees=kept,left");
  await stream.until((messages) => ["kept", "left"].every((tree) => numbersOf(messages, tree).length > 0));
  const key = estate.keys.acme.read;
  const told = numbersOf(stream.messages, "left").length;
  await estate.post(`/live/${id}`, { trees: [{ tree: "kept", after: 0 }] }, { key });
  await count(estate, "left", 3);
  await lastOf(estate, "left");
  await count(estate, "kept", 3);
  await stream.until(has("end"));
  expect(numbersOf(stream.messages, "left")).toHaveLength(told);
  expect(numbersOf(stream.messages, "kept")).toEqual(upTo(await lastOf(estate, "kept")));
  await stream.drop();
});

test("pieces of answers come of the named run alone, merged", async () => {
  const [said, unheard] = [speaker(), speaker()];
  const other: Agent = { ...orator(unheard.model), id: AgentId.of("other") };
  const estate = closing(await Estate.open({ agents: [orator(said.model), other] }));
  await start(estate, "talk", "orator");
  await start(estate, "other", "other");
  const { stream } = await openLive(estate, "?deltas=talk~0");
  for (const name of ["talk", "other"]) await estate.post(`/runs/${name}/signal`, speak());
  await Promise.all([said.asked, unheard.asked]);
  for (const piece of ["One ", "two ", "three"]) said.say(piece);
  unheard.say("secret");
  await stream.until((messages) =>
    messages.some(({ event, data }) => event === "delta" && data.includes("three")),
  );
  const deltas = stream.messages.filter(({ event }) => event === "delta");
  const items = deltas.flatMap((message) => dataOf<{ items: readonly { text: string }[] }>(message).items);
  expect(items.map(({ text }) => text).join("")).toBe("One two three");
  expect(deltas.length).toBeLessThan(3);
  expect(stream.messages.map(({ data }) => data).join("")).not.toContain("secret");
  await stream.drop();
});

test("another tenant, and another key, neither sees nor steers a stream", async () => {
  const estate = closing(await Estate.open());
  await start(estate, "mine");
  const { id } = await openLive(estate);
  const key = estate.keys.rival.admin;
  const rival = await Subscription.to(`${estate.url}/live`, { key });
  await rival.until(has("opened"));
  for (const other of [key, estate.keys.acme.admin]) {
    const reply = await estate.post(`/live/${id}`, { trees: [] }, { key: other });
    expect([reply.status, codeOf(reply)]).toEqual([404, "not-found"]);
  }
  const stolen = await estate.get("/live?trees=mine", { key });
  expect([stolen.status, codeOf(stolen)]).toEqual([404, "not-found"]);
  await count(estate, "mine", 3);
  const own = await estate.post("/runs", { agent: "counter", input: "count", id: "theirs" }, { key });
  expect(own.status).toBe(202);
  await rival.until((messages) => messages.some(({ data }) => data.includes('"theirs"')));
  expect(rival.messages.map(({ data }) => data).join("")).not.toContain('"mine"');
  await rival.drop();
});

test("too many streams of a key, too many trees of a stream and wrong cursors are refused", async () => {
  const limits = { subscribersPerKey: 2, watchedTrees: 2 };
  const estate = closing(await Estate.open({ agents: [counter], limits }));
  const { stream, id } = await openLive(estate);
  const { stream: second } = await openLive(estate);
  const key = estate.keys.acme.read;
  const third = await estate.get("/live", { key });
  expect([third.status, codeOf(third)]).toEqual([429, "too-many-requests"]);
  await second.drop();
  for (const name of ["a", "b", "c"]) await start(estate, name);
  const trees = ["a", "b", "c"].map((tree) => ({ tree }));
  const many = await estate.post(`/live/${id}`, { trees }, { key });
  expect([many.status, many.text]).toEqual([400, expect.stringContaining("at most 2")]);
  for (const query of ["?trees=a,b,c", "?trees=a:x", "?trees=%25zz", "?trees=a:1:2"])
    expect([query, (await estate.get(`/live${query}`, { key })).status]).toEqual([query, 400]);
  await stream.drop();
});
