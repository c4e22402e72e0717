/** Returns the message for optional packages that are not installed: all of them, and the install command. */
export function missingPackagesText(what: string, names: readonly string[]): string {
  const [list, verb] = names.length === 1 ? [names[0], "is"] : [joinNames(names), "are"];
  return `${what} needs ${list}, which ${verb} not installed: npm install ${names.join(" ")}`;
}

/**
 * Loads a module that imports optional packages. `packages` imports each of them. @throws Error that names all missing
 * ones and the install command
 */
export async function loadWithPackages<Module>(
  what: string,
  packages: Readonly<Record<string, () => Promise<unknown>>>,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const tried = await Promise.all(
      Object.entries(packages).map(([name, each]) =>
        each().then(
          () => [],
          (reason: unknown) => (isMissing(reason) ? [name] : []),
        ),
      ),
    );
    const missing = tried.flat();
    throw missing.length === 0 ? error : new Error(missingPackagesText(what, missing));
  }
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

const joinNames = (names: readonly string[]): string =>
  `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
