// A parent with a token limit spawns a child that would spend four times as much. How much is really spent?
const scenario = { limit: 3_000, helperCalls: 12, tokensPerCall: 1_000 };
for (const peer of ["ai", "ours"]) {
  const { overspend } = await import(`./peers/${peer}/overspend.mjs`);
  const spent = await overspend(scenario);
  const share = `${((spent / scenario.limit) * 100).toFixed(0)} %`;
  console.log(peer.padEnd(6), `limit ${scenario.limit}`, `spent ${spent}`, share);
}
