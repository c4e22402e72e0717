import { lookup } from "node:dns";
import { lookup as resolveName } from "node:dns/promises";
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { takeAttempts } from "../attempted-connections.ts";

const refusal = "no connection to";

test("a test cannot reach another machine, and each attempt is noted", async () => {
  await expect(fetch("http://192.0.2.1/")).rejects.toMatchObject({
    cause: { message: "no connection to 192.0.2.1 in this test" },
  });
  expect(() => connect(80, "192.0.2.2")).toThrow(refusal);
  expect(() => connect({ host: "192.0.2.3", port: 80 })).toThrow(refusal);
  expect(() => lookup("one.example.com", () => undefined)).toThrow(refusal);
  expect(() => resolveName("two.example.com")).toThrow(refusal);
  const socket = createSocket("udp4");
  expect(() => socket.send("hello", 53, "192.0.2.4")).toThrow(refusal);
  socket.close();
  expect(takeAttempts()).toEqual([
    "192.0.2.1",
    "192.0.2.2",
    "192.0.2.3",
    "one.example.com",
    "two.example.com",
    "192.0.2.4",
  ]);
});

test.fails("an attempt fails its test, also where the error is ignored", async () => {
  await fetch("http://192.0.2.1/").catch(() => undefined);
});
