/** A line that is too long to be read. */
export const tooLong = Symbol("too long");

/** Yields the lines of a text that comes in pieces. A line of more than `longest` characters is skipped, not kept. */
export async function* splitLines(
  pieces: AsyncIterable<string> | Iterable<string>,
  longest: number,
): AsyncGenerator<string | typeof tooLong, void, undefined> {
  let begun: string[] = [];
  let length = 0;
  const end = (): string | typeof tooLong => {
    const line = length > longest ? tooLong : begun.join("");
    begun = [];
    length = 0;
    return line;
  };
  const add = (text: string): void => {
    length += text.length;
    if (length <= longest) begun.push(text);
    else begun = [];
  };
  for await (const piece of pieces) {
    let from = 0;
    for (let to = piece.indexOf("\n"); to >= 0; to = piece.indexOf("\n", from)) {
      add(piece.slice(from, to));
      yield end();
      from = to + 1;
    }
    add(piece.slice(from));
  }
  if (length > 0) yield end();
}
