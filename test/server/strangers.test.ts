import { apiKeys, createApiKey, type Auth } from "reeve/server";
import { manualClock } from "reeve/testing";
import { expect, test } from "vitest";
import { closing } from "./closing.ts";
import { inAYear, TestServer } from "./test-server.ts";

test("requests without a valid key are bounded, and callers that were admitted before are not affected", async () => {
  const clock = manualClock(1_000);
  const [known, late] = [1, 2].map(() =>
    createApiKey({ tenant: "acme", scopes: ["read"], expiresAt: inAYear }),
  );
  const kept = apiKeys([known, late].flatMap((made) => made?.record ?? []));
  let lookups = 0;
  const auth: Auth = {
    authenticate: (bearer) => {
      lookups += 1;
      return kept.authenticate(bearer);
    },
  };
  const site = closing(await TestServer.open({ clock, auth, limits: { failuresPerMinute: 3 } }));
  const statusOf = async (key: string | undefined): Promise<number> =>
    (await site.get("/agents", { key })).status;
  expect(await statusOf(known?.key)).toBe(200);
  for (const key of ["guess-1", "guess-2", undefined]) expect(await statusOf(key)).toBe(401);
  expect(lookups).toBe(4);
  for (const key of ["guess-3", undefined, late?.key]) expect(await statusOf(key)).toBe(429);
  expect(lookups).toBe(4);
  expect(await statusOf(known?.key)).toBe(200);
  await clock.advance(20_000);
  expect([await statusOf(late?.key), await statusOf("guess-4"), await statusOf("guess-5")]).toEqual([
    200, 401, 429,
  ]);
});
