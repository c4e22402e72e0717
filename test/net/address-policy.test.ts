import { AddressRefusedError, createAddressPolicy, createCheckedFetch } from "reeve/net";
import { expect, test } from "vitest";
import { forbiddenUrls, names } from "./address-corpus.ts";
import { serveOn } from "./loopback-servers.ts";

/** Resolves the names of the corpus, never through the network. */
const resolveFake = async (host: string): Promise<readonly string[]> => names[host] ?? ["93.184.215.14"];

/** Counts requests to a server on 127.0.0.1 that no test may reach. */
async function openCanary() {
  const hits: string[] = [];
  const server = await serveOn((request, response) => {
    hits.push(request.headers.host ?? "");
    response.end("reached");
  });
  return { hits, port: server.port, close: () => server[Symbol.asyncDispose]() };
}

test("the corpus of forbidden URLs never reaches a server on the loopback interface", async () => {
  const canary = await openCanary();
  const urls = forbiddenUrls(canary.port);
  expect(new Set(urls).size).toBeGreaterThanOrEqual(150);
  const fetchChecked = createCheckedFetch({
    policy: createAddressPolicy({ allowHttp: true, resolve: resolveFake }),
    timeoutMs: 5_000,
  });
  const passed: string[] = [];
  for (const url of urls)
    await fetchChecked(url).then(
      () => passed.push(url),
      (error: unknown) => expect(error).toBeInstanceOf(AddressRefusedError),
    );
  expect(passed).toEqual([]);
  expect(canary.hits).toEqual([]);
  const open = createCheckedFetch({ policy: createAddressPolicy({ allowHttp: true, allow: ["127.0.0.1"] }) });
  expect(await (await open(`http://2130706433:${canary.port}/`)).text()).toBe("reached");
  await canary.close();
});

test("no redirect leads to a forbidden address", async () => {
  const canary = await openCanary();
  const urls = forbiddenUrls(canary.port).filter((url) => !/[^\x20-\x7e]/.test(url) && url.includes(":"));
  const redirector = await serveOn(
    (request, response) => {
      const [, index = "", hops = "0"] = (request.url ?? "").split("/");
      const next = Number(hops) > 0 ? `/${index}/${Number(hops) - 1}` : (urls[Number(index)] ?? "");
      response.writeHead([301, 302, 303, 307, 308][Number(index) % 5] ?? 302, { location: next }).end();
    },
    { host: "127.0.0.2" },
  );
  const fetchChecked = createCheckedFetch({
    policy: createAddressPolicy({ allowHttp: true, allow: ["127.0.0.2"], resolve: resolveFake }),
  });
  expect(urls.length).toBeGreaterThanOrEqual(150);
  for (const [index, url] of urls.entries())
    expect([url, await fetchChecked(`${redirector.url}${index}/${index % 4}`).catch(String)]).toEqual([
      url,
      expect.stringContaining("address refused"),
    ]);
  expect(canary.hits).toEqual([]);
  await Promise.all([canary.close(), redirector[Symbol.asyncDispose]()]);
});

test("a name that resolves to another address after the check is not reached there", async () => {
  const canary = await openCanary();
  const allowed = await serveOn((_, response) => response.end("allowed"), {
    host: "127.0.0.2",
    port: canary.port,
  });
  let lookups = 0;
  const rebinding = async (): Promise<readonly string[]> => {
    lookups += 1;
    return [lookups % 2 === 1 ? "127.0.0.2" : "127.0.0.1"];
  };
  const fetchChecked = createCheckedFetch({
    policy: createAddressPolicy({ allowHttp: true, allow: ["127.0.0.2"], resolve: rebinding }),
  });
  const url = `http://rebinding.example:${canary.port}/`;
  expect(await (await fetchChecked(url)).text()).toBe("allowed");
  expect(lookups).toBe(1);
  await expect(fetchChecked(url)).rejects.toThrow("127.0.0.1 is not a public address");
  expect(canary.hits).toEqual([]);
  await Promise.all([canary.close(), allowed[Symbol.asyncDispose]()]);
});

test("a redirect to a name resolves and checks it again", async () => {
  const canary = await openCanary();
  const redirector = await serveOn(
    (_, response) => response.writeHead(302, { location: `http://rebinding.example:${canary.port}/` }).end(),
    { host: "127.0.0.2", port: canary.port },
  );
  const answers = [["127.0.0.2"], ["127.0.0.1"]];
  const fetchChecked = createCheckedFetch({
    policy: createAddressPolicy({
      allowHttp: true,
      allow: ["127.0.0.2"],
      resolve: async () => answers.shift() ?? [],
    }),
  });
  await expect(fetchChecked(`http://rebinding.example:${canary.port}/`)).rejects.toThrow(AddressRefusedError);
  expect([answers, canary.hits]).toEqual([[], []]);
  await Promise.all([canary.close(), redirector[Symbol.asyncDispose]()]);
});

test.each([
  ["https only by default", {}, "http://public.example/", "protocol"],
  ["a denied host", { deny: ["*.bad.example"] }, "https://a.bad.example/", "denied"],
  ["deny before allow", { allow: ["10.0.0.0/8"], deny: ["10.9.0.0/16"] }, "https://10.9.0.1/", "denied"],
  ["hosts that are not listed", { onlyHosts: ["a.example"] }, "https://b.example/", "host"],
  ["an address that is not listed", { onlyHosts: ["a.example"] }, "https://93.184.215.14/", "host"],
  [
    "a link-local address of an allowed host",
    { allow: ["metadata.example"] },
    "https://metadata.example/",
    "address",
  ],
  [
    "a mapped address of an allowed host",
    { allow: ["mapped.example"] },
    "https://mapped.example/",
    "address",
  ],
  ["a local name with an allowed address", { allow: ["127.0.0.0/8"] }, "https://localhost/", "host"],
])("refuses %s", async (_, options, url, rule) => {
  const policy = createAddressPolicy({ resolve: resolveFake, ...options });
  await expect(policy.resolve(url)).rejects.toMatchObject({ code: "address-refused", rule });
});

test.each([
  ["a public name", {}, "https://public.example/", ["93.184.215.14"]],
  ["a public address", {}, "https://93.184.215.14/", ["93.184.215.14"]],
  ["a public IPv6 address", {}, "https://[2606:4700::1]/", ["2606:4700::1"]],
  ["a host that is allowed", { allow: ["private.example"] }, "https://private.example/", ["10.1.2.3"]],
  ["hosts below one that is allowed", { allow: ["*.example"] }, "https://loopback.example/", ["127.0.0.1"]],
  [
    "a range that is allowed",
    { allow: ["169.254.169.0/24"] },
    "https://169.254.169.254/",
    ["169.254.169.254"],
  ],
  ["an IPv6 range", { allow: ["fd00::/8"] }, "https://[fd12::1]/", ["fd12::1"]],
  ["a listed host", { onlyHosts: ["*.example"] }, "https://public.example/", ["93.184.215.14"]],
  ["a low port that is allowed", { lowPorts: [443, 853] }, "https://public.example:853/", ["93.184.215.14"]],
])("allows %s", async (_, options, url, addresses) => {
  const policy = createAddressPolicy({ resolve: resolveFake, ...options });
  expect((await policy.resolve(url)).addresses).toEqual(addresses);
});

test("the error names the host, and nothing of the path or the query", async () => {
  const policy = createAddressPolicy({ resolve: resolveFake });
  const error = await policy.resolve("https://private.example/hook/s3cret?token=t0ken").catch(String);
  expect(error).toContain("private.example: 10.1.2.3 is not a public address");
  expect(error).not.toMatch(/s3cret|t0ken/);
});

test.each(["10.0.0.0/x", "10.0.0.0/99", "::1/200"])("refuses the range %s", (range) => {
  expect(() => createAddressPolicy({ allow: [range] })).toThrow(RangeError);
});

test("a name that cannot be resolved may be tried again", async () => {
  const policy = createAddressPolicy({ resolve: () => Promise.reject(new Error("ENOTFOUND")) });
  await expect(policy.resolve("https://public.example/")).rejects.toMatchObject({
    rule: "unresolved",
    retryable: true,
  });
});
