import type { Page } from "playwright-core";
import { Partition } from "reeve/store";
import type { Principal } from "reeve/server";
import { expect, test } from "vitest";
import type { DashboardSite } from "./dashboard-site.ts";
import { mailingTeam } from "./mailing-team.ts";
import { expectAccessible, keepPicture, siteOf, type Visit, visit } from "./open-page.ts";
import { writeConversation } from "./records-site.ts";
import { sample } from "../../effort.ts";

const principalOf = (tenant: string, scopes: Principal["scopes"]): Principal => ({
  id: `${tenant}-${scopes.join("-")}`,
  tenant,
  scopes,
});

/** The keys of the test, and what their holders may do. */
const holders = {
  read: principalOf("acme", ["read"]),
  content: principalOf("acme", ["read", "content"]),
  run: principalOf("acme", ["run"]),
  approve: principalOf("acme", ["approve"]),
  admin: principalOf("acme", ["admin"]),
  rival: principalOf("rival", ["admin"]),
} as const satisfies Readonly<Record<string, Principal>>;

type Holder = keyof typeof holders;

const paths = [
  "/runs",
  "/runs/report",
  "/approvals",
  "/approvals?state=decided",
  "/sessions",
  "/sessions/report-talk",
  "/audit",
  "/agents",
  "/agents/writer",
  "/play/lead",
] as const;

type Path = (typeof paths)[number];
type Check = (page: Page) => Promise<unknown>;

const shows =
  (text: string | RegExp): Check =>
  (page) =>
    page.getByText(text).first().waitFor();

/** The text is there, and the button beside it is locked with this reason; null: it is not locked. */
const offers =
  (button: RegExp, lock: string | null): Check =>
  async (page) => {
    const found = page.getByRole("button", { name: button }).first();
    await found.waitFor();
    expect([await found.getAttribute("aria-disabled"), await found.getAttribute("title")]).toEqual([
      String(lock !== null),
      lock,
    ]);
  };

const lacks = (scope: string): string => `Your key lacks the scope ${scope}`;
const refused = shows(/this key lacks the scope read/);

const allOf =
  (...checks: readonly Check[]): Check =>
  async (page) => {
    for (const check of checks) await check(page);
  };

const hidesMessages: Check = async (page) => {
  await shows("Messages are content: your key lacks the scope content.")(page);
  expect(await page.getByText("Who writes it?").count()).toBe(0);
  await shows("[content: needs the scope content]")(page);
};

/** A question without its arguments. */
const hidesArguments: Check = async (page) => {
  await shows("[content: needs the scope content]")(page);
  expect(await page.getByText("The report is attached.").count()).toBe(0);
};

const reader: Readonly<Record<Path, Check>> = {
  "/runs": shows("The report"),
  "/runs/report": allOf(offers(/^Cancel/, lacks("run")), offers(/^Top up/, lacks("admin"))),
  "/approvals": allOf(hidesArguments, offers(/^Approve once/, lacks("approve"))),
  "/approvals?state=decided": shows("No decisions yet"),
  "/sessions": shows("The report"),
  "/sessions/report-talk": allOf(hidesMessages, offers(/^Fork here/, lacks("run"))),
  "/audit": shows("The audit needs the scope admin"),
  "/agents": shows("Writes and sends the report"),
  "/agents/writer": shows("Instructions are content: your key lacks the scope content."),
  "/play/lead": offers(/^Start/, lacks("run")),
};

/** A key without `read` sees an explanation instead of data. */
const blind: Readonly<Record<Path, Check>> = {
  "/runs": refused,
  "/runs/report": refused,
  "/approvals": refused,
  "/approvals?state=decided": refused,
  "/sessions": refused,
  "/sessions/report-talk": refused,
  "/audit": shows("The audit needs the scope admin"),
  "/agents": refused,
  "/agents/writer": refused,
  "/play/lead": refused,
};

const expected: Readonly<Record<Holder, Readonly<Record<Path, Check>>>> = {
  read: reader,
  content: {
    ...reader,
    "/approvals": allOf(shows("The report is attached."), offers(/^Approve once/, lacks("approve"))),
    "/sessions/report-talk": shows("Who writes it?"),
    "/agents/writer": shows("Write one page. Send it to the team."),
  },
  run: blind,
  approve: blind,
  admin: {
    ...reader,
    "/runs/report": allOf(offers(/^Cancel/, null), offers(/^Top up/, null)),
    "/approvals": allOf(shows("The report is attached."), offers(/^Approve once/, null)),
    "/sessions/report-talk": allOf(shows("Who writes it?"), offers(/^Fork here/, null)),
    "/audit": shows("Not checked yet."),
    "/agents/writer": shows("Write one page. Send it to the team."),
    "/play/lead": async (page) => page.getByRole("textbox", { name: "Task" }).waitFor(),
  },
  rival: {
    ...reader,
    "/runs": shows("Nothing has run yet"),
    "/runs/report": shows("Nothing here that your key can see"),
    "/approvals": shows("Nothing waits for you"),
    "/sessions": shows("No conversation yet"),
    "/sessions/report-talk": shows("Nothing here that your key can see"),
    "/audit": shows("No decisions yet: the chain has no link."),
    "/agents/writer": shows("Write one page. Send it to the team."),
    "/play/lead": async (page) => page.getByRole("textbox", { name: "Task" }).waitFor(),
  },
};

async function lockedSite(): Promise<DashboardSite> {
  const { agents, lead } = mailingTeam("The report is attached.");
  const auth = {
    authenticate: async (key: string) =>
      Object.entries<Principal>(holders).find(([name]) => name === key)?.[1] ?? null,
  };
  const site = await siteOf(agents, auth);
  await writeConversation(site, "", Partition.of("acme"));
  await site.runtime.start(lead, "Send it", {
    id: "report",
    name: "The report",
    tenant: "acme",
    budget: { maxCostUsd: 1 },
  });
  const waiting = async (): Promise<number> =>
    (await site.runtime.approvals.list({ tenant: "acme", state: "pending" })).items.length;
  await expect.poll(waiting).toBe(1);
  return site;
}

async function signIn(site: DashboardSite, key: string): Promise<Visit> {
  const visited = await visit(site, "/runs");
  await visited.page.getByLabel("API key").fill(key);
  await visited.page.keyboard.press("Enter");
  await visited.page.getByRole("navigation", { name: "Main" }).waitFor();
  return visited;
}

test("without a session every address asks for a key, and draws nothing else", async () => {
  const site = await lockedSite();
  const { page, faults } = await visit(site, "/runs");
  for (const path of paths) {
    await page.goto(`${site.origin}/ui${path}`);
    await page.getByLabel("API key").waitFor();
    expect(await page.getByText(/report|writer/).count()).toBe(0);
  }
  expect(faults).toEqual([]);
});

const tried: readonly Holder[] = ["read", "content", "run", "approve", "admin", "rival"];

test.each(sample(tried, 0.5))(
  "a key of %s sees the screens of its scopes, and locked screens name the missing scope",
  async (holder) => {
    const site = await lockedSite();
    const { page, faults } = await signIn(site, holder);
    for (const path of paths) {
      await page.goto(`${site.origin}/ui${path}`);
      await expected[holder][path](page).catch((error: unknown) => {
        throw new Error(`${holder} ${path}`, { cause: error });
      });
      if (holder === "read") await expectAccessible(page);
      if (holder === "read") await keepPicture(page, `read-only-${path.slice(1).replaceAll(/[/?=]/g, "-")}`);
    }
    expect(faults).toEqual([]);
  },
);
