/**
 * The address policy: decides which URLs this process may request for an agent, a tenant or a model.
 *
 * 1. `checkUrl` checks the text of a URL: protocol, credentials, port, host name, and an address in place of a name.
 * 2. `resolve` also resolves the name, once, and checks every address. One refused address refuses the URL.
 * 3. The caller connects to the addresses of `resolve` and never resolves again, which prevents DNS rebinding.
 * `createCheckedFetch` does all three.
 *
 * The URL parser normalises each spelling of an IPv4 address (decimal, octal, hexadecimal, short, full-width), so there
 * is only one form to check.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { errorMessage } from "#base";
import { classifyAddress, contains, isRange, toBlockList } from "./address-ranges.ts";
import { AddressRefusedError, type AddressRefusal } from "./net-errors.ts";

/** Returns all addresses of a host. */
export type ResolveHost = (host: string) => Promise<readonly string[]>;

/** Settings of an address policy. Hosts are names such as `example.com`, or `*.example.com` for all subdomains. */
export interface AddressPolicyOptions {
  /**
   * Hosts, addresses and ranges (`10.1.0.0/16`) that are allowed although they are not public. An allowed host may have
   * private and loopback addresses; any other address, such as a link-local one, needs a range. Default: none.
   */
  readonly allow?: readonly string[] | undefined;
  /** Hosts, addresses and ranges that are refused, also where `allow` names them. Default: none. */
  readonly deny?: readonly string[] | undefined;
  /** The only allowed hosts. Their addresses are checked as well. Default: all. */
  readonly onlyHosts?: readonly string[] | undefined;
  /** Whether `http:` is allowed. Default: only `https:`. */
  readonly allowHttp?: boolean | undefined;
  /** Ports below 1024 that are allowed. Default: 80 and 443. */
  readonly lowPorts?: readonly number[] | undefined;
  /** Resolves names. Default: the system's resolver. */
  readonly resolve?: ResolveHost | undefined;
}

/** A URL that the policy allows, with the addresses to connect to. */
export interface CheckedTarget {
  readonly url: URL;
  /** The host to connect to: an address has no brackets. */
  readonly host: string;
  readonly addresses: readonly string[];
}

/** Decides which URLs may be requested. */
export interface AddressPolicy {
  /** Judges a URL without resolving its name. @throws AddressRefusedError */
  checkUrl(url: string | URL): URL;
  /** Resolves the name of a URL and judges all of its addresses. @throws AddressRefusedError */
  resolve(url: string | URL): Promise<CheckedTarget>;
}

/** Names of the machine itself. */
const localNames = [
  "localhost",
  "*.localhost",
  "localhost.localdomain",
  "*.localdomain",
  "ip6-localhost",
  "ip6-loopback",
];

/** Creates an address policy. @throws RangeError on a range that is none. */
export function createAddressPolicy(options: AddressPolicyOptions = {}): AddressPolicy {
  const { resolve = resolveWithSystem, onlyHosts } = options;
  const allow = toRules(options.allow ?? []);
  const deny = toRules(options.deny ?? []);
  const lowPorts = new Set(options.lowPorts ?? [80, 443]);

  const checkAddress = (host: string, address: string): void => {
    if (isIP(address) === 0)
      refuseAddress(host, "address", "its name resolves to a value that is not an IP address");
    if (contains(deny.ranges, address)) refuseAddress(host, "denied", `${address} is denied`);
    if (contains(allow.ranges, address)) return;
    const found = classifyAddress(address);
    if (found === "global" || (found === "inside" && matchesAny(host, allow.hosts))) return;
    refuseAddress(host, "address", `${address} is not a public address`);
  };

  const checkHost = (host: string): void => {
    if (isIP(host) !== 0) {
      checkAddress(host, host);
      if (onlyHosts && !onlyHosts.includes(host)) refuseAddress(host, "host", "the host is not in onlyHosts");
      return;
    }
    if (!isHostName(host)) refuseAddress(host, "host", "not a host name (a trailing dot is not allowed)");
    if (matchesAny(host, deny.hosts)) refuseAddress(host, "denied", "the host is denied");
    if (onlyHosts && !matchesAny(host, onlyHosts))
      refuseAddress(host, "host", "the host is not in onlyHosts");
    if (matchesAny(host, localNames) && !matchesAny(host, allow.hosts))
      refuseAddress(host, "host", "the name is local to this machine");
  };

  const checkUrl = (input: string | URL): URL => {
    const text = String(input);
    if (!URL.canParse(text)) return refuseAddress("", "invalid-url", "not a URL");
    const url = new URL(text);
    const host = hostOf(url);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && options.allowHttp === true))
      refuseAddress(host, "protocol", `${url.protocol} is not allowed`);
    if (url.username !== "" || url.password !== "")
      refuseAddress(host, "credentials", "a URL must not hold a user name or a password");
    if (url.port !== "" && Number(url.port) < 1024 && !lowPorts.has(Number(url.port)))
      refuseAddress(host, "port", `port ${url.port} is not allowed`);
    checkHost(host);
    return url;
  };

  return {
    checkUrl,
    resolve: async (input) => {
      const url = checkUrl(input);
      const host = hostOf(url);
      if (isIP(host) !== 0) return { url, host, addresses: [host] };
      const addresses = await resolve(host).catch((error: unknown) =>
        refuseAddress(host, "unresolved", `the name cannot be resolved (${errorMessage(error)})`),
      );
      if (addresses.length === 0) refuseAddress(host, "unresolved", "the name has no address");
      for (const address of addresses) checkAddress(host, address);
      return { url, host, addresses };
    },
  };
}

async function resolveWithSystem(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

function toRules(entries: readonly string[]): {
  readonly hosts: readonly string[];
  readonly ranges: ReturnType<typeof toBlockList>;
} {
  return {
    hosts: entries.filter((entry) => !isRange(entry)).map((host) => host.toLowerCase()),
    ranges: toBlockList(entries.filter(isRange)),
  };
}

function matchesAny(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith("*.") ? host.endsWith(pattern.slice(1).toLowerCase()) : host === pattern.toLowerCase(),
  );
}

/** Letters, digits, dashes and underscores, joined by single dots: the URL parser allows more than resolvers agree on. */
function isHostName(host: string): boolean {
  return host.length <= 253 && /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(host);
}

function hostOf({ hostname }: URL): string {
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

function refuseAddress(host: string, rule: AddressRefusal, detail: string): never {
  throw new AddressRefusedError({ host, rule, detail });
}
