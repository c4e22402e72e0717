// floor + every audit event durably appended to SQLite WAL (synchronous=NORMAL), one autocommit insert per event
import { DatabaseSync } from "node:sqlite";
import fs from "node:fs";
import * as f from "../floor/adapter.mjs";
export const name = "floor + SQLite journal (NORMAL)";
const file = `${process.env.TMPDIR ?? "/tmp"}/floor-${process.pid}.db`;
process.on("exit", () => {
  for (const x of ["", "-wal", "-shm"]) fs.rmSync(file + x, { force: true });
});
export async function setup() {
  const db = new DatabaseSync(file);
  db.exec(
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; CREATE TABLE j(run TEXT, seq INT, body TEXT, PRIMARY KEY(run,seq)) WITHOUT ROWID",
  );
  const ins = db.prepare("INSERT INTO j VALUES(?,?,?)");
  f.journal.write = (r, s, b) => ins.run(r, s, b);
  return f.setup();
}
