/** Returns advice with its commands as the user types them: `npx reeve` where only the project has the package. */
export function asTyped(advice: string, command: string): string {
  return advice.replaceAll(/(?<=^ {0,9}|`|: |→ )reeve (?=[a-z-])/gm, () => `${command} `);
}
