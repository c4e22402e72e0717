import type { DevTools, FaultKind } from "reeve/server";
import { expect, test } from "vitest";
import { codeOf } from "./ask.ts";
import { closing } from "./closing.ts";
import { TestServer } from "./test-server.ts";

/** Tools of `reeve dev` that record their requests. */
function devTools(): DevTools & { readonly caused: FaultKind[]; words: string | null } {
  const caused: FaultKind[] = [];
  return {
    caused,
    words: null,
    example: "Report on heat pumps",
    failure() {
      return this.words;
    },
    cause: (kind) => void caused.push(kind),
  };
}

test("only the server of reeve dev has faults; elsewhere the address does not exist", async () => {
  const other = closing(await TestServer.open());
  const refused = await other.post("/dev/faults", { kind: "kill-worker" });
  expect([refused.status, codeOf(refused)]).toEqual([404, "not-found"]);
  expect((await other.get("/me")).json).toMatchObject({ dev: null });
  expect((await other.get("/status")).json).toMatchObject({ dev: null });

  const dev = devTools();
  const site = closing(await TestServer.open({ dev }));
  for (const kind of ["kill-worker", "slow", "injection"])
    expect((await site.post("/dev/faults", { kind })).status).toBe(202);
  expect(dev.caused).toEqual(["kill-worker", "slow", "injection"]);
  expect((await site.post("/dev/faults", { kind: "fire" })).status).toBe(400);
});

test("a fault needs the scope admin, a name of this machine and the page's own origin", async () => {
  const dev = devTools();
  const origins = ["https://console.example.com"];
  const site = closing(await TestServer.open({ dev, hosts: ["dev.example.com"], origins }));
  const cause = async (question: object): Promise<unknown> =>
    codeOf(await site.post("/dev/faults", { kind: "slow" }, question));
  expect(await cause({ key: site.keys.acme.run })).toBe("forbidden");
  expect(await cause({ headers: { host: "dev.example.com" } })).toBe("host-not-allowed");
  expect(await cause({ headers: { origin: "https://console.example.com" } })).toBe("wrong-origin");
  expect(await cause({ headers: { origin: "http://127.0.0.1:1" } })).toBe("wrong-origin");
  expect(dev.caused).toEqual([]);
  expect((await site.post("/dev/faults", { kind: "slow" }, { headers: { origin: site.url } })).status).toBe(
    202,
  );
});

test("the page gets the first task, and the load error of the newest code", async () => {
  const dev = devTools();
  const site = closing(await TestServer.open({ dev }));
  expect((await site.get("/me")).json).toMatchObject({ dev: { example: "Report on heat pumps" } });
  dev.words = "ReferenceError: missing is not defined";
  expect((await site.get("/status")).json).toMatchObject({ dev: { failure: dev.words } });
});

test("tools of reeve dev are refused on an address that others reach", async () => {
  const open = TestServer.open({ dev: devTools(), hostname: "0.0.0.0", hosts: ["api.example.com"] });
  await expect(open).rejects.toThrow("hostname 0.0.0.0 can be reached from other machines");
});
