import { ReplayCache, signWebhook, verifyWebhook } from "reeve/webhooks";
import { expect, test } from "vitest";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const now = Date.UTC(2026, 0, 1);
const body = JSON.stringify({
  type: "run.end",
  timestamp: new Date(now).toISOString(),
  data: { runId: "t~0" },
});

const signMessage = (fields: { at?: number; id?: string; secrets?: readonly string[] } = {}) =>
  signWebhook({ id: "msg_1", at: now, body, secrets: [secret], ...fields });

const verify = (options: Partial<Parameters<typeof verifyWebhook>[0]> = {}) =>
  verifyWebhook({
    body,
    headers: signMessage(),
    secrets: [secret],
    seen: new ReplayCache(),
    now,
    ...options,
  });

test("a signature matches the test vector of the public format", () => {
  const headers = signWebhook({
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    at: 1_614_265_330_000,
    body: '{"test": 2432232314}',
    secrets: [secret],
  });
  expect(headers).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("a signed message is accepted, from headers of both kinds and bodies of both kinds", () => {
  const expected = { id: "msg_1", type: "run.end", data: { runId: "t~0" } };
  expect(verify()).toMatchObject(expected);
  expect(verify({ headers: new Headers(signMessage()), body: Buffer.from(body) })).toMatchObject(expected);
});

test.each([
  ["another body", { body: body.replace("t~0", "t~1") }, "signature"],
  ["another secret", { secrets: [other] }, "signature"],
  ["no secret", { secrets: [] }, "signature"],
  ["another id", { headers: { ...signMessage(), "webhook-id": "msg_2" } }, "signature"],
  [
    "another time",
    { headers: { ...signMessage(), "webhook-timestamp": String(now / 1_000 + 1) } },
    "signature",
  ],
  [
    "another version",
    {
      headers: {
        ...signMessage(),
        "webhook-signature": signMessage()["webhook-signature"]?.replace("v1", "v2"),
      },
    },
    "signature",
  ],
  ["a signature that is cut", { headers: { ...signMessage(), "webhook-signature": "v1,g0h" } }, "signature"],
  ["a missing header", { headers: { ...signMessage(), "webhook-id": undefined } }, "headers"],
  ["a time that is none", { headers: { ...signMessage(), "webhook-timestamp": "soon" } }, "headers"],
  ["a time too early", { headers: signMessage({ at: now - 301_000 }) }, "timestamp"],
  ["a time too late", { headers: signMessage({ at: now + 301_000 }) }, "timestamp"],
])("refuses %s", (_, options, reason) => {
  expect(() => verify(options)).toThrow(expect.objectContaining({ code: "webhook-refused", reason }));
});

test.each([-300_000, 300_000])("accepts a time that is %i ms off", (offset) => {
  expect(verify({ headers: signMessage({ at: now + offset }) }).id).toBe("msg_1");
});

test("refuses a repeated message while its time is in the window, and accepts a new delivery attempt", () => {
  const seen = new ReplayCache();
  const ahead = { seen, headers: signMessage({ at: now + 299_000 }) };
  expect(verify(ahead).id).toBe("msg_1");
  for (const later of [0, 1_000, 598_000])
    expect(() => verify({ ...ahead, now: now + later })).toThrow(
      expect.objectContaining({ reason: "replay" }),
    );
  expect(() => verify({ ...ahead, now: now + 600_000 })).toThrow(
    expect.objectContaining({ reason: "timestamp" }),
  );
  expect(verify({ seen, headers: signMessage({ at: now + 5_000 }) }).id).toBe("msg_1");
});

test("remembers messages in the process if no cache is given", () => {
  const headers = signMessage({ id: "msg_of_the_process" });
  const given = { body, headers, secrets: [secret], now };
  expect(verifyWebhook(given).id).toBe("msg_of_the_process");
  expect(() => verifyWebhook(given)).toThrow("it was already accepted (replay)");
});

test("a message that was refused is not remembered", () => {
  const seen = new ReplayCache();
  expect(() => verify({ seen, secrets: [other] })).toThrow("no signature is valid");
  expect(verify({ seen }).id).toBe("msg_1");
});

test("during a rotation each of two secrets is enough, on either side", () => {
  const both = signMessage({ secrets: [other, secret] });
  expect(both["webhook-signature"]?.split(" ")).toHaveLength(2);
  for (const secrets of [[secret], [other], [other, secret]])
    expect(verify({ headers: both, secrets }).id).toBe("msg_1");
  expect(verify({ secrets: [other, secret] }).id).toBe("msg_1");
});

test.each(["", "whsec_", "abc", "whsec_###", `whsec_${Buffer.alloc(23).toString("base64")}`])(
  "refuses the secret %j without showing it",
  (wrong) => {
    expect(() => verify({ secrets: [wrong] })).toThrow(
      new TypeError("invalid webhook secret: use whsec_ followed by 24 to 64 bytes in base64"),
    );
  },
);
