/** Maximum number of calls of a cancelled run that get an error. Then its code is abandoned. */
const maxRefusals = 100;

/**
 * Counts the calls that code makes after its run was cancelled. Each is refused with an error, without a turn of the
 * event loop. So code that catches every error in a loop would block the process.
 */
export class Refusals {
  #count = 0;

  /** Counts one call. Returns false if it is one too many: the code gets no more errors. */
  countCall(): boolean {
    this.#count += 1;
    return this.#count <= maxRefusals;
  }
}
