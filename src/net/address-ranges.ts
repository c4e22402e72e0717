import { BlockList, isIP } from "node:net";

/** Ranges inside a network: the machine itself and its neighbours. An allowed host may have such an address. */
const insideRanges = [
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.168.0.0/16",
  "::1/128",
  "fc00::/7",
];

/**
 * Special ranges, from the registries of IANA: unspecified, link-local (with the metadata services of clouds), protocol
 * assignments, documentation, benchmarks, relays, multicast, reserved. Only an explicit range allows them.
 */
const specialRanges = [
  "0.0.0.0/8",
  "168.63.129.16/32", // metadata of Azure
  "169.254.0.0/16",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.31.196.0/24",
  "192.52.193.0/24",
  "192.88.99.0/24",
  "192.175.48.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "fd00:ec2::/32", // metadata of AWS
  "fd20:ce::/32", // metadata of Google Cloud
  "2001::/23", // Teredo, ORCHID, benchmarks
  "2001:db8::/32",
  "2002::/16", // 6to4
  "2620:4f:8000::/48",
  "3fff::/20",
];

/** Addresses that routers of the internet deliver. All other IPv6 is refused: mapped, compatible, NAT64, link-local, multicast. */
const globalIpv6 = toBlockList(["2000::/3"]);
const inside = toBlockList(insideRanges);
const special = toBlockList(specialRanges);

/** The scope of an address: the internet, the local network, or a special range. */
export type AddressClass = "global" | "inside" | "special";

/** Returns the class of an address. A text that is not an address, or has a zone, is `special`. */
export function classifyAddress(address: string): AddressClass {
  const family = isIP(address);
  if (family === 0 || address.includes("%")) return "special";
  if (contains(special, address)) return "special";
  if (family === 6 && !globalIpv6.check(address, "ipv6"))
    return inside.check(address, "ipv6") && !isMapped(address) ? "inside" : "special";
  return contains(inside, address) ? "inside" : "global";
}

/** Whether a list of ranges holds the address. A mapped IPv6 address is in the ranges of its IPv4 address. */
export function contains(list: BlockList, address: string): boolean {
  if (address.includes("%")) return false;
  return list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Builds a list from addresses and ranges such as `10.0.0.0/8`. @throws RangeError for any other text. */
export function toBlockList(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (isIP(address) === 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits)))
      throw new RangeError(`not an address or a range: ${JSON.stringify(entry)} (such as 10.0.0.0/8)`);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** Whether a text of an allow or deny list is an address or a range, and no host. */
export function isRange(entry: string): boolean {
  return isIP(entry.split("/", 1)[0] ?? "") !== 0;
}

const mapped = toBlockList(["::ffff:0:0/96"]);

function isMapped(address: string): boolean {
  return mapped.check(address, "ipv6");
}
