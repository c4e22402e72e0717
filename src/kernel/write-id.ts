const writeIdPattern = /^[\x21-\x7e]{1,200}$/;

/** @throws TypeError unless it can name a write. */
export function checkWriteId(id: string): void {
  if (!writeIdPattern.test(id))
    throw new TypeError(
      `not the id of a write: ${JSON.stringify(id)} (1 to 200 printable characters, no space)`,
    );
}
