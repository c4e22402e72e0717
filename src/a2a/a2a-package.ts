import { loadWithPackages } from "#base";

const importSdk = async () => {
  const [core, server, errors, legacy] = await Promise.all([
    import("@a2a-js/sdk"),
    import("@a2a-js/sdk/server"),
    import("@a2a-js/sdk/errors"),
    import("@a2a-js/sdk/compat/v0_3/server"),
  ]);
  return { core, server, errors, legacy };
};

/** The parts of the package that are used. Its enums are values, so they are read from here. */
export type A2aPackage = Awaited<ReturnType<typeof importSdk>>;

/** Loads the package with the first request. @throws Error that names the command to install it. */
export const loadA2a = (): Promise<A2aPackage> =>
  loadWithPackages("the A2A server", { "@a2a-js/sdk": () => import("@a2a-js/sdk") }, importSdk);
