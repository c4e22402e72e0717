import { expect, test, vi } from "vitest";
import { answers, fakeProvider, type FakeProvider } from "../../src/testing/fake-provider/index.ts";
import { ask, failure, headers, openDouble, providers, realModel } from "./real-providers.ts";

test("requests in flight are counted by run until they are answered", async () => {
  const answer = Promise.withResolvers<{ readonly text: string }>();
  const double = await openDouble({ script: () => answer.promise });
  const model = realModel("anthropic", double);
  const calls = [
    ask(model, "generate", { headers: headers("a", "1") }),
    ask(model, "stream", { headers: headers("a", "2") }),
    ask(model, "stream", { headers: headers("b", "3") }),
  ];
  await double.inFlight.reaches(3);
  expect(double.inFlight.runs.toSorted()).toEqual(["a", "b"]);
  answer.resolve({ text: "Done." });
  await Promise.all(calls);
  expect(double.inFlight).toMatchObject({ requests: 0, runs: [] });
  expect(double.inFlight.peakRuns()).toBe(2);
  expect(double.inFlight.peakRuns((run) => run === "b")).toBe(1);
  expect(double.inFlight.timeline.map(({ requests }) => requests)).toEqual([1, 2, 3, 2, 1, 0]);
});

test("requests in flight never overlap for a client that asks one by one", async () => {
  const double = await openDouble({ script: answers(["Done."]) });
  for (const [index, name] of [...providers, ...providers].entries()) {
    await ask(realModel(name, double), index % 2 ? "stream" : "generate", {
      headers: headers(`run-${index}`, "1"),
    });
  }
  expect(double.inFlight.peakRuns()).toBe(1);
});

test("requests in flight end when their client leaves", async () => {
  const double = await openDouble({ script: answers([{ fault: "hang" }]) });
  const patience = new AbortController();
  const call = failure(ask(realModel("chat", double), "stream", { abortSignal: patience.signal }));
  await double.inFlight.reaches(1);
  patience.abort();
  await call;
  await vi.waitFor(() => expect(double.inFlight.requests).toBe(0));
});

test("waiting for requests in flight ends with the signal", async () => {
  const double = await openDouble();
  const patience = new AbortController();
  const waiting = failure(double.inFlight.reaches(1, patience.signal));
  patience.abort(new Error("enough"));
  expect(await waiting).toMatchObject({ message: "enough" });
});

async function closeInFlight(double: FakeProvider, entries: number): Promise<unknown> {
  const call = failure(ask(realModel("chat", double), "generate"));
  await double.inFlight.reaches(1);
  await vi.waitFor(() => expect(double.bill.entries).toHaveLength(entries));
  await double.close();
  return call;
}

test("closing drops a call that would hang for ever", async () => {
  const double = await fakeProvider({ script: answers([{ text: "Never.", fault: "hang" }]) });
  expect(await closeInFlight(double, 1)).toMatchObject({
    isRetryable: true,
    cause: { code: "UND_ERR_SOCKET" },
  });
  expect(double.bill.entries).toMatchObject([{ outcome: "hang", billed: true }]);
  expect(await failure(ask(realModel("chat", double), "generate"))).toMatchObject({
    cause: { code: "ECONNREFUSED" },
  });
});

test("closing does not wait for latency", async () => {
  const double = await fakeProvider({ latency: ({ model }) => (model === "double-1" ? 600_000 : 0) });
  expect((await ask(realModel("chat", double, "quick"), "generate")).text).toBe("Where is the pump?");
  expect(await closeInFlight(double, 2)).toMatchObject({ isRetryable: true });
  expect(double.bill.total()).toMatchObject({ requests: 2, billed: 2 });
});

test("closing notes the calls that the script had not answered, once, and may be repeated", async () => {
  const answer = Promise.withResolvers<{ readonly text: string }>();
  const double = await fakeProvider({ script: () => answer.promise });
  await closeInFlight(double, 0);
  await double[Symbol.asyncDispose]();
  answer.resolve({ text: "Too late." });
  await new Promise((resolve) => setImmediate(resolve));
  expect(double.bill.entries).toMatchObject([{ outcome: "unanswered", billed: false, model: "double-1" }]);
});

test("closing frees the port for the next fake provider", async () => {
  const first = await fakeProvider({ script: answers(["first"]) });
  await first.close();
  const second = await openDouble({ script: answers(["second"]), port: first.port });
  expect((await ask(realModel("chat", second), "generate")).text).toBe("second");
});
