/** An item of one of two streams. */
export type Either<First, Second> = { readonly first: First } | { readonly second: Second };

type Ready<First, Second> =
  | { readonly item: Either<First, Second> | null; readonly again: () => void }
  | { readonly error: unknown };

/**
 * Merges two streams in order of arrival. Each waits until its item is consumed. The merged stream ends with the first
 * one. If the second one ends or fails earlier, it is ignored from then on.
 */
export async function* merge<First, Second>(
  first: AsyncGenerator<First, void>,
  second: AsyncGenerator<Second, void>,
): AsyncGenerator<Either<First, Second>, void> {
  const ready: Ready<First, Second>[] = [];
  let wake = Promise.withResolvers<void>();
  const tell = (news: Ready<First, Second>): void => {
    ready.push(news);
    wake.resolve();
  };
  const pullFirst = (): void =>
    void first.next().then(
      ({ done, value }) => tell({ item: done ? null : { first: value }, again: pullFirst }),
      (error: unknown) => tell({ error }),
    );
  const pullSecond = (): void =>
    void second.next().then(
      ({ done, value }) => (done ? undefined : tell({ item: { second: value }, again: pullSecond })),
      () => undefined,
    );
  pullFirst();
  pullSecond();
  try {
    for (;;) {
      const news = ready.shift();
      if (!news) {
        await wake.promise;
        wake = Promise.withResolvers();
        continue;
      }
      if ("error" in news) throw news.error;
      if (!news.item) return;
      yield news.item;
      news.again();
    }
  } finally {
    // Pending reads are released by their signal, not by this call.
    for (const stream of [first, second]) stream.return().catch(() => undefined);
  }
}

/** Begins to listen at once: a model is asked to stream only while there is a reader. */
export function listenAtOnce<T>(stream: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  const first = stream.next();
  first.catch(() => undefined);
  return (async function* (): AsyncGenerator<T, void> {
    const { done, value } = await first;
    if (done) return;
    yield value;
    yield* stream;
  })();
}
