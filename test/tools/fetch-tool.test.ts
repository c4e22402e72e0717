import { agent, createRuntime } from "reeve";
import { call, say, scriptedModel } from "reeve/testing";
import { fetchTool, files, type FetchToolOptions } from "reeve/tools";
import { expect, test } from "vitest";
import { forbiddenUrls, names } from "../net/address-corpus.ts";
import { serveOn } from "../net/loopback-servers.ts";
import { callTool, tryTool } from "./call-tool.ts";

const open: FetchToolOptions = { allowHttp: true, allow: ["127.0.0.0/8"] };

/** Resolves the names of the corpus, never through the network. */
const resolve = async (host: string): Promise<readonly string[]> => names[host] ?? ["93.184.215.14"];

test("a page is fetched with its status and final address, in parts", async () => {
  await using server = await serveOn((request, response) => {
    if (request.url === "/old") response.writeHead(302, { location: "/new" }).end();
    else if (request.url === "/new")
      response.writeHead(200, { "content-type": "text/plain" }).end("0123456789");
    else response.writeHead(404, { "content-type": "text/plain" }).end("no such page");
  });
  const tool = fetchTool({ ...open, maxCharacters: 6 });
  expect(await callTool(tool, { url: `${server.url}old` })).toEqual({
    url: `${server.url}new`,
    status: 200,
    text: "012345",
    more: "4 more characters: fetch from 6",
  });
  const rest = { url: `${server.url}new`, status: 200, text: "6789" };
  expect(await callTool(tool, { url: `${server.url}new`, from: 6 })).toEqual(rest);
  expect(await callTool(tool, { url: `${server.url}x` })).toMatchObject({ status: 404 });
});

test("a charset is obeyed, HTML goes through readHtml, and binary content is not shown", async () => {
  await using server = await serveOn((request, response) => {
    const types: Record<string, string> = {
      "/latin": "text/plain; charset=iso-8859-1",
      "/strange": "text/plain; charset=nonsense",
      "/page": "text/html",
      "/image": "image/png",
      "/zip": "application/zip",
    };
    response.writeHead(200, { "content-type": types[request.url ?? ""] ?? "text/plain" });
    response.end(request.url === "/latin" ? Buffer.from([0xe4]) : "<p>hello</p>");
  });
  const tool = fetchTool({ ...open, readHtml: (html) => html.replaceAll(/<[^>]*>/g, "") });
  expect(await callTool(tool, { url: `${server.url}latin` })).toMatchObject({ text: "ä" });
  expect(await callTool(tool, { url: `${server.url}strange` })).toMatchObject({ text: "<p>hello</p>" });
  expect(await callTool(tool, { url: `${server.url}page` })).toMatchObject({ text: "hello" });
  for (const name of ["image", "zip"])
    expect(await tryTool(tool, { url: `${server.url}${name}` })).toMatch(/only text is supported/);
});

test("a fetch is limited in bytes and time", async () => {
  await using server = await serveOn((request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    if (request.url === "/slow") response.write("a");
    else response.end("x".repeat(2_000));
  });
  expect(await tryTool(fetchTool({ ...open, maxBytes: 1_000 }), { url: server.url })).toMatch(/1000|1,000/);
  const slow = fetchTool({ ...open, timeoutS: 0.2 });
  expect(await tryTool(slow, { url: `${server.url}slow` })).toMatch(/error: request to 127.0.0.1 ended/);
});

test("no address of the corpus is reached, directly or by a redirect", async () => {
  const hits: string[] = [];
  await using canary = await serveOn((request, response) => {
    hits.push(request.url ?? "");
    response.end("reached");
  });
  const urls = forbiddenUrls(canary.port);
  await using redirector = await serveOn(
    (request, response) => {
      const location = urls[Number(request.url?.slice(1))] ?? "";
      response.writeHead(302, { location: encodeURI(location) }).end();
    },
    { host: "127.0.0.2" },
  );
  const tool = fetchTool({ allowHttp: true, allow: ["127.0.0.2"], resolve, timeoutS: 5 });
  expect(new Set(urls).size).toBeGreaterThanOrEqual(150);
  const passed: string[] = [];
  for (const [index, url] of urls.entries()) {
    if (!(await tryTool(tool, { url })).includes("address refused")) passed.push(url);
    const redirected = await tryTool(tool, { url: `${redirector.url}${index}` });
    if (!redirected.startsWith("error: ")) passed.push(`redirect to ${url}`);
  }
  expect([passed, hits]).toEqual([[], []]);
  expect(await callTool(fetchTool(open), { url: canary.url })).toMatchObject({ text: "reached" });
});

test("only https is allowed by default, and a host can be denied", async () => {
  expect(await tryTool(fetchTool(), { url: "http://example.com/" })).toMatch(/http: is not allowed/);
  expect(await tryTool(fetchTool({ deny: ["*.example.com"] }), { url: "https://a.example.com/" })).toMatch(
    /denied/,
  );
});

test("a run that has read a private file needs approval to fetch", async () => {
  let hits = 0;
  await using server = await serveOn((_, response) => {
    hits += 1;
    response.end("page");
  });
  const { list } = files(import.meta.dirname);
  const fetching = call("fetch_page", { url: server.url });
  const model = scriptedModel([fetching, call("list_files", { path: "." }), fetching, say("done")]);
  const reader = agent({ name: "reader", model, tools: [list, fetchTool(open)] });
  await using runtime = createRuntime({ agents: [reader] });
  await (await runtime.start(reader, "go")).result();
  expect(hits).toBe(1);
  expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toMatch(/both untrusted and private/);
});
