/** The middle one. */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

/** Rows and columns as Markdown. */
export function table(rows, columns, valueOf) {
  const head = [line(["", ...columns]), line(["---", ...columns.map(() => "---")])];
  return [
    ...head,
    ...rows.map((row) => line([row, ...columns.map((each) => short(valueOf(row, each)))])),
  ].join("\n");
}

const line = (cells) => `| ${cells.join(" | ")} |`;

function short(number) {
  if (number >= 100) return Math.round(number).toLocaleString("en");
  return number.toFixed(number >= 10 ? 0 : 2);
}
