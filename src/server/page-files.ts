import { existsSync, readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** The dashboard that a server offers under `/ui`. */
export interface PageOptions {
  /** The folder with the built page. Default: the one in this package. */
  readonly folder?: string;
  /** The path under which browsers reach it, for a server below another path. Default `/ui`. */
  readonly base?: string;
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".png": "image/png",
};

/** No inline code, no other origin, no markup from text: also if a text of a model gets past the page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The worker's address, and no markup.
  "trusted-types reeve-worker",
].join("; ");

/** The headers of every answer under `/ui`. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** Created on first use. */
  gzip: Uint8Array<ArrayBuffer> | null;
}

const notBuilt = "The dashboard is not built. Run `npm run build`, and start the server again.\n";

/**
 * The files of the dashboard. All of them are read once, at the start, and found by exact name: no path of a request
 * reaches the disk. Names contain a hash of the content, so browsers may cache them for good; only `index.html` is
 * revalidated.
 */
export class PageFiles {
  readonly #files: ReadonlyMap<string, PageFile>;

  constructor({ folder = packagedFolder(), base = "/ui" }: PageOptions = {}) {
    if (!/^(\/[\w.~-]+)+$/.test(base))
      throw new TypeError(`ui.base must be a path such as "/reeve/ui", got ${JSON.stringify(base)}`);
    this.#files = readFiles(folder, base);
  }

  /** Answers a request for a path below `/ui/`. A path that is not a file is a place inside the page. */
  answer(path: string, accepted: string): Response {
    const file = this.#files.get(path);
    if (file && path !== "index.html")
      return toFileResponse(file, accepted, "public, max-age=31536000, immutable");
    if (path.startsWith("assets/")) return new Response("not found\n", { status: 404, headers: plain });
    const index = this.#files.get("index.html");
    if (!index) return new Response(notBuilt, { status: 404, headers: plain });
    return toFileResponse(index, accepted, "no-cache");
  }
}

const plain = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };

/** When run from source, the built page is beside the sources. */
function packagedFolder(): string {
  const beside = fileURLToPath(new URL("../ui/", import.meta.url));
  const built = fileURLToPath(new URL("../../dist/ui/", import.meta.url));
  return existsSync(join(beside, "index.html")) && !beside.includes("/src/") ? beside : built;
}

function readFiles(folder: string, base: string): ReadonlyMap<string, PageFile> {
  if (!existsSync(folder)) return new Map();
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return new Map(
    found.flatMap(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const type = types[extname(name)];
      if (type === undefined) return [];
      const relative = path.slice(join(folder, "/").length).replaceAll("\\", "/");
      const bytes = new Uint8Array(readFileSync(path));
      const file = { bytes: relative === "index.html" ? rebaseIndex(bytes, base) : bytes, type, gzip: null };
      return [[relative, file] as const];
    }),
  );
}

/** Returns `index.html` for another path than `/ui`. */
function rebaseIndex(index: Uint8Array<ArrayBuffer>, base: string): Uint8Array<ArrayBuffer> {
  const text = new TextDecoder().decode(index);
  return new TextEncoder().encode(text.replaceAll('"/ui/', `"${base}/`).replaceAll('"/ui"', `"${base}"`));
}

function toFileResponse(file: PageFile, accepted: string, cache: string): Response {
  const headers = { "content-type": file.type, "cache-control": cache, vary: "accept-encoding" };
  // Fonts and pictures are compressed already.
  if (!/\bgzip\b/.test(accepted) || !/^text|svg|json/.test(file.type))
    return new Response(file.bytes, { headers });
  file.gzip ??= new Uint8Array(gzipSync(file.bytes));
  return new Response(file.gzip, { headers: { ...headers, "content-encoding": "gzip" } });
}
