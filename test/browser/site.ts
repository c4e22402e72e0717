import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Hono } from "hono";
import { createRuntime, type CreateRuntimeOptions, type Runtime } from "reeve";
import { serverApp } from "reeve/server";
import { memoryStore } from "reeve/stores/memory";
import { build } from "vite";
import { portOf } from "../models/canned-server.ts";
import { Wire } from "./wire.ts";

/** Files by their path. */
type Files = ReadonlyMap<string, string | Uint8Array>;

/** Bundles the page for a browser, with React's development build, which finds more errors. */
export async function bundlePage(): Promise<Files> {
  const made = await build({
    root: `${import.meta.dirname}/page`,
    configFile: false,
    logLevel: "error",
    define: { "process.env.NODE_ENV": '"development"' },
    build: { write: false, minify: false },
  });
  if (!("output" in made)) throw new Error("the page is one bundle");
  return new Map(
    made.output.map((file) => [`/${file.fileName}`, file.type === "chunk" ? file.code : file.source]),
  );
}

/** A site's runtime, and the other origins that may call it. */
export interface SiteOptions extends Pick<CreateRuntimeOptions, "agents" | "engine" | "store"> {
  readonly origins?: readonly string[];
}

/** A site with a page, and agents below `/api`: one listener for both, behind a wire. */
export class Site implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly wire: Wire;
  /** Requests and the status of their responses, in order. */
  readonly answers: readonly string[];
  readonly #server: Server;

  private constructor(runtime: Runtime, wire: Wire, answers: readonly string[], server: Server) {
    this.runtime = runtime;
    this.wire = wire;
    this.answers = answers;
    this.#server = server;
  }

  static async open(files: Files, { origins = [], ...options }: SiteOptions): Promise<Site> {
    const runtime = createRuntime({ store: memoryStore(), approver: "human", ...options });
    const app = new Hono();
    app.mount("/api", serverApp({ runtime, auth: "none", origins }).fetch);
    app.get("*", ({ req }) => pageFile(files, req.path));
    const answers: string[] = [];
    const server = createServer((request, response) => {
      response.once("finish", () => answers.push(`${request.method} ${request.url} ${response.statusCode}`));
      void answer(app, request, response);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    return new Site(runtime, await Wire.to(portOf(server)), answers, server);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.wire.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wire[Symbol.asyncDispose]();
    this.#server.closeAllConnections();
    await once(this.#server.close(), "close");
    await this.runtime[Symbol.asyncDispose]();
  }
}

const types: Readonly<Record<string, string>> = { html: "text/html", js: "text/javascript" };

function pageFile(files: Files, path: string): Response {
  const name = path === "/" ? "/index.html" : path;
  const file = files.get(name);
  const type = types[name.split(".").at(-1) ?? ""] ?? "application/octet-stream";
  return file === undefined
    ? new Response(null, { status: 404 })
    : new Response(Buffer.from(file), { headers: { "content-type": type } });
}

async function answer(app: Hono, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = "GET", url = "/", headers } = incoming;
  const request = new Request(new URL(url, "http://localhost"), {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
    ...(method === "POST" && { body: Readable.toWeb(incoming), duplex: "half" }),
  });
  const response = await app.fetch(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (!response.body) return void outgoing.end();
  // A client that disconnects ends the response.
  await pipeline(Readable.fromWeb(response.body), outgoing).catch(() => undefined);
}
