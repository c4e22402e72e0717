import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openBrowser } from "../../src/cli/dev/open-browser.ts";

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reeve-browser-"));
  for (const name of ["xdg-open", "open"]) {
    const program = `#!/bin/sh\nprintf '%s\\n' "${name}" "$#" "$@" > "${folder}/opened"\n`;
    writeFileSync(join(folder, name), program);
    chmodSync(join(folder, name), 0o755);
  }
  vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const readOpened = (): string => {
  try {
    return readFileSync(join(folder, "opened"), "utf8");
  } catch {
    return "";
  }
};

test.each([
  ["linux", "xdg-open"],
  ["darwin", "open"],
])("on %s the address is the one argument of %s", async (platform, program) => {
  const address = "http://127.0.0.1:7433/ui?a=$(touch%20x);b&c";
  await openBrowser(address, platform);
  await expect.poll(readOpened).toBe(`${program}\n1\n${address}\n`);
});

test.each([
  "https://127.0.0.1/ui",
  "http://example.com/ui",
  "file:///etc/passwd",
  "http://127.0.0.1.example.com/",
])("%s is not opened", async (address) => {
  await expect(openBrowser(address, "linux")).rejects.toThrow("only addresses of this machine can be opened");
  expect(readOpened()).toBe("");
});

test("a machine without the program gets an error", async () => {
  vi.stubEnv("PATH", "/nowhere");
  await expect(openBrowser("http://127.0.0.1:7433/ui", "linux")).rejects.toThrow("xdg-open ENOENT");
});
