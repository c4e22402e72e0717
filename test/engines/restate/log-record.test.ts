import { expect, test } from "vitest";
import { diagnose } from "#base";
import { sdkLog, type LogRecord } from "../../../src/engines/restate/operations/log-record.ts";

const message = "Error when processing a Restate context operation.\n";

function logError(error: Error): readonly LogRecord[] {
  const records: LogRecord[] = [];
  const log = sdkLog(
    (record) => records.push(record),
    () => null,
  );
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Restate makes it
  log({ level: "warn", source: "JOURNAL" } as never, message, error);
  return records;
}

test("an error that the runtime has reported is not logged again when Restate retries after it", () => {
  const error = new TypeError("of ada");
  expect(logError(new Error("wrapped", { cause: error }))).toMatchObject([
    {
      level: "warn",
      message: "Error when processing a Restate context operation.",
      error: { name: "TypeError" },
    },
  ]);
  diagnose("agent lead", error);
  expect(logError(new Error("wrapped", { cause: error }))).toEqual([]);
  expect(logError(error)).toEqual([]);
});
