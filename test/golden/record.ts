// Records the golden journal of the current protocol number: `npm run golden`.
import { writeFile } from "node:fs/promises";
import { protocolNumber } from "../../src/tree/protocol-number.ts";
import { recordGolden } from "./operations.ts";

const file = new URL(`protocol-${protocolNumber}.json`, import.meta.url);
await writeFile(file, `${JSON.stringify(await recordGolden(), null, 2)}\n`);
process.stdout.write(`recorded ${file.pathname}\n`);
process.exit(0);
