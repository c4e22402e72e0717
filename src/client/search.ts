/** Returns the query of an address, with its question mark; empty: no field is given. */
export function search(query: object): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(Object.fromEntries(given)).toString()}`;
}
