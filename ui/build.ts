import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "vite";

/** The most bytes of code and styles of all screens, compressed, and of fonts. */
const maxBytes = { code: 250_000, fonts: 55_000 } as const;

/**
 * Builds the page into a folder. Every name but `index.html` has a hash, nothing is inline, and the addresses in
 * `index.html` begin with `/ui/`, which a server below another path replaces. @throws Error if it is too large.
 */
export async function buildPage(
  outDir: string,
  most: Readonly<Record<keyof typeof maxBytes, number>> = maxBytes,
): Promise<void> {
  const made = await build({
    root: import.meta.dirname,
    configFile: false,
    logLevel: "error",
    mode: "production",
    base: "/ui/",
    // Also where a test builds it: the environment of the caller does not decide.
    oxc: { jsx: { runtime: "automatic", development: false } },
    define: { "process.env.NODE_ENV": '"production"' },
    resolve: { conditions: ["reeve-source", "browser", "module", "import", "default"] },
    plugins: [withoutSources],
    worker: { format: "es" },
    experimental: {
      // Code names its parts relative to itself, so it works below any path.
      renderBuiltUrl: (name, { hostType }) => (hostType === "html" ? `/ui/${name}` : { relative: true }),
    },
    build: {
      outDir,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: "es2024",
    },
  });
  if (!("output" in made)) throw new Error("the page is one bundle");
  const sizeOf = (ending: RegExp, compress: boolean): number =>
    made.output
      .filter(({ fileName }) => ending.test(fileName))
      .map(({ fileName }) => readFileSync(join(outDir, fileName)))
      .reduce((sum, bytes) => sum + (compress ? gzipSync(bytes, { level: 9 }) : bytes).length, 0);
  check("code and styles", sizeOf(/\.(js|css)$/, true), most.code);
  check("fonts", sizeOf(/\.woff2$/, false), most.fonts);
}

/** Source files that code names by their address, and that the page does not load. */
const withoutSources: Plugin = {
  name: "reeve-without-sources",
  generateBundle: (_, bundle) => {
    for (const name of Object.keys(bundle)) if (name.endsWith(".ts")) delete bundle[name];
  },
};

function check(what: string, bytes: number, most: number): void {
  if (bytes > most) throw new Error(`${what} of the page: ${bytes} bytes, at most ${most} are allowed`);
}

if (import.meta.main) await buildPage(process.argv[2] ?? join(import.meta.dirname, "../dist/ui"));
