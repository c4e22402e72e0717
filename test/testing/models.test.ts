import { agent, ChatMessage, ModelError } from "reeve";
import {
  call,
  fail,
  faultyModel,
  manualModel,
  recordModel,
  RecordingDriftError,
  replayModel,
  say,
  scriptedModel,
  testRuntime,
} from "reeve/testing";
import { expect, test } from "vitest";

const request = (text: string) => ({ messages: [ChatMessage.user(text)], tools: [], maxOutputTokens: 10 });
const quiet = { signal: new AbortController().signal };

test("a scripted model answers in order, repeats its last answer, and records its requests", async () => {
  const model = scriptedModel([say("one"), call("look", { at: "pump" }), say("three")]);
  const answers = [];
  for (const text of ["a", "b", "c", "d"]) answers.push((await model.generate(request(text), quiet)).message);
  expect(answers.map(ChatMessage.text)).toEqual(["one", "", "three", "three"]);
  expect(model.requests.map(({ messages }) => messages.map(ChatMessage.text))).toEqual([
    ["a"],
    ["b"],
    ["c"],
    ["d"],
  ]);
});

test("a recording repeats its answers to the same requests", async () => {
  const real = recordModel(scriptedModel([say("1987"), say("The vendor.")], { id: "real" }));
  const ask = async (model: typeof real | ReturnType<typeof replayModel>): Promise<unknown> => {
    const lead = agent({ name: "lead", model });
    await using t = testRuntime({ agents: [lead] });
    return (await t.run(lead, "When?")).output;
  };
  expect(await ask(real)).toBe("1987");
  const stored = JSON.parse(JSON.stringify(real.calls));
  expect(await ask(replayModel(stored, { id: "real" }))).toBe("1987");
});

test("a recording throws for an unrecorded request, and for one request too many", async () => {
  const real = recordModel(scriptedModel([say("1987")]));
  await real.generate(request("When?"), quiet);
  const replayed = replayModel(real.calls, { id: "real" });
  await expect(replayed.generate(request("Who?"), quiet)).rejects.toThrow(RecordingDriftError);
  await replayed.generate(request("When?"), quiet);
  await expect(replayed.generate(request("When?"), quiet)).rejects.toMatchObject({ call: 2, recorded: null });
});

test("a faulty model fails and hangs by plan", async () => {
  const error = new ModelError({ kind: "overloaded", message: "busy" });
  const model = faultyModel(
    scriptedModel([say("fine")]),
    (number) => [error, "hang" as const, null][number - 1] ?? null,
  );
  await expect(model.generate(request("1"), quiet)).rejects.toBe(error);
  const stop = new AbortController();
  const hanging = model.generate(request("2"), { signal: stop.signal });
  stop.abort(error);
  await expect(hanging).rejects.toBe(error);
  expect(ChatMessage.text((await model.generate(request("3"), quiet)).message)).toBe("fine");
});

test("a manual model answers when the test calls it, and an abort ends its call", async () => {
  const model = manualModel();
  const answered = model.generate(request("a"), quiet);
  model.calls[0]?.answer("yes");
  expect(ChatMessage.text((await answered).message)).toBe("yes");
  const stop = new AbortController();
  const aborted = model.generate(request("b"), { signal: stop.signal });
  stop.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
});

test("a scripted failure is thrown", async () => {
  await expect(scriptedModel([fail(new Error("no"))]).generate(request("a"), quiet)).rejects.toThrow("no");
});
