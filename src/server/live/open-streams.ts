type Ready<Item> = { readonly item: Item; readonly again: () => void } | { readonly error: unknown };

/**
 * Streams that are read as one, in order of arrival. Streams can be added during reading. The next item of a stream is
 * requested after its last one was taken, so nothing is read ahead, and a slow reader slows all of them.
 */
export class OpenStreams<Item> {
  readonly #ready: Ready<Item>[] = [];
  #wake = Promise.withResolvers<void>();

  /** Adds a stream. If it fails, so does the reader, unless the signal ended it: then its items are left out. */
  add(stream: AsyncGenerator<Item, void>, signal: AbortSignal): void {
    const pull = (): void =>
      void stream.next().then(
        ({ done, value }) => {
          if (!done && !signal.aborted) this.#tell({ item: value, again: pull });
        },
        (error: unknown) => {
          if (!signal.aborted) this.#tell({ error });
        },
      );
    pull();
  }

  /** Adds one item. */
  put(item: Item): void {
    this.#tell({ item, again: () => undefined });
  }

  /** Yields the items of all streams; never ends by itself. @throws the error of a stream, the signal's reason. */
  async *read(signal: AbortSignal): AsyncGenerator<Item, void> {
    const stop = (): void => this.#wake.resolve();
    signal.addEventListener("abort", stop);
    try {
      for (;;) {
        signal.throwIfAborted();
        const next = this.#ready.shift();
        if (!next) {
          await this.#wake.promise;
          this.#wake = Promise.withResolvers();
          continue;
        }
        if ("error" in next) throw next.error;
        yield next.item;
        next.again();
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  #tell(ready: Ready<Item>): void {
    this.#ready.push(ready);
    this.#wake.resolve();
  }
}
