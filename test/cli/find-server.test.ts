import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findServer } from "../../src/cli/client/find-server.ts";

test("the server is the one that was named, else that of the nearest reeve dev, which is sent no key", () => {
  const folder = mkdtempSync(join(tmpdir(), "reeve-find-"));
  const below = join(folder, "src", "deep");
  const environment = { REEVE_API_KEY: "secret" };
  try {
    mkdirSync(below, { recursive: true });
    expect(findServer("http://a/", environment, below)).toEqual({ url: "http://a", key: "secret" });
    const named = { ...environment, REEVE_URL: "http://b" };
    expect(findServer(undefined, named, below)).toEqual({ url: "http://b", key: "secret" });
    mkdirSync(join(folder, ".reeve"));
    writeFileSync(join(folder, ".reeve", "dev.json"), '{"url":"http://c"}');
    expect(findServer(undefined, environment, below)).toEqual({ url: "http://c", key: null });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
