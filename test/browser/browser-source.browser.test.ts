import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { agent, ChatMessage, createRuntime, type RunResult } from "reeve";
import { browser, type BrowserOptions } from "reeve/browser";
import { memoryStore } from "reeve/stores/memory";
import { call, say, scriptedModel, type ScriptedAnswer } from "reeve/testing";
import { afterEach, expect, test } from "vitest";

const open: AsyncDisposable[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]();
});

/** A site on this machine. Returns its address. */
async function siteOf(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  open.push({
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
  const at = server.address();
  return `http://127.0.0.1:${typeof at === "object" && at ? at.port : 0}`;
}

const html = (body: string): string => `<!doctype html><title>Prices</title><body>${body}</body>`;

/** A page that has another heading once its script has run, and that counts visits in a cookie. */
const shop: RequestListener = ({ headers, url }, response) => {
  const [, location] = url?.split("?to=") ?? [];
  if (location) return void response.writeHead(302, { location }).end();
  if (url === "/long") return void response.end(html(`<p>${"heat pump ".repeat(2_000)}</p>`));
  const visits = 1 + Number(/visits=(\d+)/.exec(headers.cookie ?? "")?.[1] ?? 0);
  response.setHeader("set-cookie", `visits=${visits}`);
  response.setHeader("content-type", "text/html");
  response.end(
    html(`<h1>Loading</h1><p>Visit ${visits}</p><button>Order</button>
      <script>document.querySelector("h1").textContent = "Heron heat pumps"</script>`),
  );
};

const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

function openBrowser(options: Partial<BrowserOptions> = {}) {
  const launch = { executablePath: "/usr/bin/chromium", args: sandbox };
  const opened = browser({ hosts: ["127.0.0.1"], launch, ...options });
  open.push(opened);
  return opened;
}

/** Runs an agent with a browser. Returns the last message and the last tool result of each prompt. */
async function browse(
  answers: readonly [ScriptedAnswer, ...ScriptedAnswer[]],
  { source, tools }: ReturnType<typeof openBrowser>,
): Promise<{ result: RunResult; prompts: readonly string[]; results: readonly string[]; kept: string }> {
  const model = scriptedModel(answers);
  const researcher = agent({ name: "researcher", model, tools, ephemeral: [source] });
  await using runtime = createRuntime({ agents: [researcher], store: memoryStore() });
  const talk = await runtime.sessions.create(researcher);
  const run = await talk.start("What does a heat pump cost?");
  const result = await run.result();
  await talk.waitForIdle();
  const kept: unknown[] = [];
  for await (const event of run.events()) kept.push(event);
  for await (const line of talk.export()) kept.push(line);
  const prompts = model.requests.map(({ messages }) =>
    ChatMessage.text(messages.at(-1) ?? ChatMessage.user("")),
  );
  const results = model.requests.map(({ messages }) =>
    JSON.stringify(messages.findLast(({ role }) => role === "tool")?.content ?? null),
  );
  return { result, prompts, results, kept: JSON.stringify(kept) };
}

test("a model sees the current state of its open page, and the page is not stored", async () => {
  const site = await siteOf(shop);
  const steps = [call("open_page", { url: site }), call("open_page", { url: `${site}/again` })] as const;
  const { result, prompts, results, kept } = await browse([...steps, say("done")], openBrowser());
  expect(result).toMatchObject({ status: "completed", output: "done", labels: { untrusted: true } });
  expect(prompts[0]).toBe("What does a heat pump cost?");
  expect(prompts[1]).toContain(`Address: ${site}/\nTitle: Prices\n`);
  expect(prompts[1]).toContain('- heading "Heron heat pumps" [level=1]');
  expect(prompts[1]).toContain('- button "Order"');
  expect(prompts[1]).toContain("Visit 1");
  expect(prompts[2]).toContain("Visit 2");
  expect(results[1]).toContain("Prices");
  expect(kept).toContain("Prices");
  expect(kept).not.toContain("Heron");
});

test("each run has its own browser, and its pages close with the run", async () => {
  const site = await siteOf(shop);
  const shared = openBrowser();
  const answers = [call("open_page", { url: site }), say("done")] as const;
  const [one, two] = [await browse(answers, shared), await browse(answers, shared)];
  expect([one.prompts[1], two.prompts[1]]).toEqual([
    expect.stringContaining("Visit 1"),
    expect.stringContaining("Visit 1"),
  ]);
  expect(two.prompts[0]).toBe("What does a heat pump cost?");
});

test("a page of another host is not opened, and a redirect does not lead there", async () => {
  const site = await siteOf(shop);
  const elsewhere = site.replace("127.0.0.1", "localhost");
  const tried = ["https://example.com/", "file:///etc/passwd", elsewhere, `${site}/?to=${elsewhere}`];
  for (const url of tried) {
    const { results, prompts } = await browse([call("open_page", { url }), say("done")], openBrowser());
    expect(results[1]).toMatch(/is not allowed|invalid web address/);
    expect(prompts[1]).not.toContain("This page is open");
  }
});

test("a page may load nothing from another host", async () => {
  const asked: string[] = [];
  const other = await siteOf(({ url = "" }, response) => (asked.push(url), void response.end("secret")));
  const elsewhere = other.replace("127.0.0.1", "localhost");
  const site = await siteOf((_, response) => {
    const script = `fetch("${elsewhere}/data", { mode: "no-cors" }).then(() => "loaded", () => "refused")`;
    response.setHeader("content-type", "text/html");
    response.end(
      html(`<h1>?</h1><img src="${elsewhere}/image"><script type="module">
      document.querySelector("h1").textContent = await ${script}</script>`),
    );
  });
  const { prompts } = await browse([call("open_page", { url: site }), say("done")], openBrowser());
  expect(prompts[1]).toContain('heading "refused"');
  expect(asked).toEqual([]);
});

test("a long page is cut", async () => {
  const site = await siteOf(shop);
  const short = openBrowser({ maxCharacters: 300 });
  const { prompts } = await browse([call("open_page", { url: `${site}/long` }), say("done")], short);
  expect(prompts[1]?.length).toBeLessThan(700);
  expect(prompts[1]).toMatch(/\[\d+ more characters\]$/);
});

test("the least recently used page is closed to make room for another run", async () => {
  const site = await siteOf(shop);
  const one = openBrowser({ maxPages: 1 });
  const answers = [call("open_page", { url: site }), say("done")] as const;
  const all = await Promise.all([browse(answers, one), browse(answers, one), browse(answers, one)]);
  expect(all.map(({ result }) => result.status)).toEqual(["completed", "completed", "completed"]);
});
