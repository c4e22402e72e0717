import { spawn } from "node:child_process";

/** The program that opens an address in the default browser, by platform. `reeve dev` runs on no other one. */
const openers: Readonly<Record<string, string>> = { linux: "xdg-open", darwin: "open" };

/**
 * Opens a local page in the default browser, without a shell: the address is one argument. Resolves once the program
 * has started. @throws TypeError if the address is not local; Error if there is no such program.
 */
export function openBrowser(address: string, platform: string = process.platform): Promise<void> {
  const { protocol, hostname } = new URL(address);
  if (protocol !== "http:" || hostname !== "127.0.0.1")
    return Promise.reject(new TypeError(`only addresses of this machine can be opened, got ${address}`));
  const opener = openers[platform];
  if (opener === undefined) return Promise.reject(new Error(`no browser can be opened on ${platform}`));
  return new Promise((resolve, reject) => {
    const started = spawn(opener, [address], { stdio: "ignore", detached: true });
    started.once("error", reject);
    started.once("spawn", () => {
      started.unref();
      resolve();
    });
  });
}
