import type { Predicate } from "./predicate.ts";

/**
 * I11: no text of a prompt, a result or an output is readable in Restate's files, PostgreSQL's tables and write-ahead
 * log, or the workers' logs. Names may be: a search that does not find them proves nothing.
 */
export const nothingReadable: Predicate = {
  id: "I11",
  claim: "no file holds a readable word of what was said",
  check: ({ scan, trees, effects }) => ({
    cases: trees.length + effects.filter(({ applied }) => applied).length,
    of: `words, in ${scan.places.join(", ")}`,
    findings: [
      ...scan.leaks.map(({ word, file }) => ({ where: file, what: `holds ${word}` })),
      ...scan.places
        .filter((place) => !scan.seen.includes(place))
        .map((place) => ({ where: place, what: "not even a name was found here: the search is blind" })),
    ],
    excused: [],
  }),
};
