import { knownSecrets } from "./secret.ts";

const shown = "[secret]";

/**
 * Patterns of secrets: keys, tokens, passwords in URLs and settings. Each takes linear time. The text before a secret
 * is matched and written back, because a lookbehind at every character is ten times slower.
 */
const patterns: readonly (readonly [RegExp, string])[] = [
  [
    /(?<![\w-])(?:sk-[\w-]{20,}|gh[opsu]_\w{30,}|github_pat_\w{30,}|xox[abprs]-[\w-]{10,}|reeve_[0-9a-f]{18}_[\w-]{43}|AKIA[0-9A-Z]{16}(?!\w)|AIza[\w-]{35}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})/g,
    shown,
  ],
  [/(:\/\/[^\s:@/]{0,64}:)[^\s@/]{1,256}(?=@)/g, `$1${shown}`],
  [/(\bBearer )[\w.~+/-]{8,}/gi, `$1${shown}`],
  [
    /((?:password|passwd|pwd|secret|token|key)(?:=["']?|["']\s{0,3}:\s{0,3}["']))[^\s"',;&]{3,}/gi,
    `$1${shown}`,
  ],
];

/** Returns a text in which known secrets, and texts that look like one, are replaced by `[secret]`. */
export function hideSecrets(text: string): string {
  let hidden = text;
  for (const value of knownSecrets()) hidden = hidden.replaceAll(value, shown);
  for (const [pattern, instead] of patterns) hidden = hidden.replaceAll(pattern, instead);
  return hidden;
}
