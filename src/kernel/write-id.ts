const writeIdPattern = /^[\x21-\x7e]{1,200}$/;

/** Checks the id of a write. @throws TypeError if it is invalid. */
export function checkWriteId(id: string): void {
  if (!writeIdPattern.test(id))
    throw new TypeError(
      `invalid write id ${JSON.stringify(id)}: use 1 to 200 printable characters, no space`,
    );
}
