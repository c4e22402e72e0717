/** How many calls of a cancelled run get an error before its code is left behind. */
const maxRefusals = 100;

/**
 * Counts the calls that code makes after its run was cancelled. Each is refused with an error, without a turn of the
 * event loop: code that catches every error in a loop would keep the process from doing anything else.
 */
export class Refusals {
  #count = 0;

  /** Counts one more. False: one too many, the code is not told any more. */
  next(): boolean {
    this.#count += 1;
    return this.#count <= maxRefusals;
  }
}
