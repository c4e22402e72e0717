/** Hosts that pages may load from: names such as `example.com`, `*.example.com` for all subdomains, or `any`. */
export type AllowedHosts = readonly string[] | "any";

/** Whether a page of this address may be opened. Only pages of the web are: no files, no data, no scripts. */
export function isAllowed(address: string, hosts: AllowedHosts): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  if (protocol !== "http:" && protocol !== "https:") return false;
  return hosts === "any" || hosts.some((host) => matches(hostname, host.toLowerCase()));
}

function matches(hostname: string, host: string): boolean {
  return host.startsWith("*.") ? hostname.endsWith(host.slice(1)) : hostname === host;
}
