/** Returns the milliseconds of processor time that an act takes: other processes on the machine do not count. */
export function cpuMs(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
