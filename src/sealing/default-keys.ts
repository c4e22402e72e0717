import { join } from "node:path";
import type { Keys } from "#kernel";
import { environmentKeys } from "./environment-keys.ts";
import { keyFile } from "./key-file.ts";

/**
 * Returns keys from `REEVE_KEY` if it is set, else from the file `.reeve/key` in the working directory.
 *
 * @throws TypeError in production without `REEVE_KEY`: a key stored next to the code protects nothing.
 */
export function defaultKeys(environment: Readonly<Record<string, string | undefined>> = process.env): Keys {
  if (environment["REEVE_KEY"] !== undefined) return environmentKeys(environment);
  if (environment["NODE_ENV"] === "production")
    throw new TypeError(
      "REEVE_KEY is not set. It encrypts all stored data: 32 bytes in base64, the same for every worker and client. " +
        "Create one with `openssl rand -base64 32` and store it with your other secrets.",
    );
  return keyFile({ path: join(process.cwd(), ".reeve", "key") });
}
