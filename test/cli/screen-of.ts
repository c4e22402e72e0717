/** Returns the screen after this output: handles the cursor moves and erasures that we use, without colours. */
export function screenOf(written: string): readonly string[] {
  const rows: string[] = [""];
  let [row, column] = [0, 0];
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  for (const [all, given = "", letter = ""] of written.matchAll(/\u001B\[([?\d;]*)([A-Za-z])|[^]/gu)) {
    const [first = 1, second = 1] = given.split(";").map(Number);
    if (letter === "A") row = Math.max(0, row - first);
    else if (letter === "H") [row, column] = [first - 1, second - 1];
    else if (letter === "K") rows[row] = (rows[row] ?? "").slice(0, column);
    else if (letter === "J") rows.splice(given === "2" ? 0 : row, Infinity);
    else if (all === "\r") column = 0;
    else if (all === "\n") [row, column] = [row + 1, 0];
    else if (letter === "") {
      const line = (rows[row] ?? "").padEnd(column);
      rows[row] = line.slice(0, column) + all + line.slice(column + all.length);
      column += all.length;
    } else if (!"mhl".includes(letter)) throw new Error(`what is ${JSON.stringify(all)}?`);
    while (rows.length <= row) rows.push("");
  }
  return rows;
}
