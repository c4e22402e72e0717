/** An issue of a Standard Schema. */
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Describes the problems of a value, each with its path: `user.age: expected number, received string`. */
export function issueText(issues: readonly Issue[]): string {
  return issues.map(oneIssue).join("; ");
}

function oneIssue({ message, path = [] }: Issue): string {
  const text = message.replace(/^Invalid input: /, "");
  const where = path.reduce<string>((before, part) => {
    const key = typeof part === "object" ? part.key : part;
    if (typeof key === "number") return `${before}[${key}]`;
    return before === "" ? String(key) : `${before}.${String(key)}`;
  }, "");
  return where === "" || text.startsWith(`${where}:`) ? text : `${where}: ${text}`;
}
