import type { Command } from "commander";

/** Names the agents of the server: the first column of a list with a headline. */
const agentNames = "reeve agents 2>/dev/null | awk 'NR>1 {print $1}'";

/** Commands whose first argument is an agent. */
const takesAgent: readonly string[] = ["run", "chat"];

/** The shells that can be taught. */
export const shells = ["bash", "zsh", "fish"] as const;

/** A script that teaches a shell the commands and options of a program. */
export function completionScript(program: Command, shell: (typeof shells)[number]): string {
  const commands = program.commands.filter((command) => command.name() !== "help");
  if (shell === "fish") return fish(commands);
  const cases = commands.map(
    (command) =>
      `    ${command.name()}) words="${optionsOf(command).concat(subcommandsOf(command), choicesOf(command)).join(" ")}" ;;`,
  );
  const names = commands.map((command) => command.name()).join(" ");
  const body = `_reeve() {
  local words="${names}"
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
  esac
  [ "$COMP_CWORD" -eq 1 ] && words="${names}"
  [ "$COMP_CWORD" -eq 2 ] && { ${takesAgent.map((name) => `[ "\${COMP_WORDS[1]}" = ${name} ]`).join(" || ")}; } && words="$words $(${agentNames})"
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
  [ "\${COMP_WORDS[1]}" = dev ] && COMPREPLY+=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _reeve reeve
`;
  return shell === "bash" ? body : `autoload -U +X bashcompinit && bashcompinit\n${body}`;
}

function fish(commands: readonly Command[]): string {
  const lines = commands.flatMap((command) => {
    const name = command.name();
    const here = `complete -c reeve -n "__fish_seen_subcommand_from ${name}"`;
    const options = command.options.map(
      ({ long, description }) =>
        `${here} -l ${(long ?? "").slice(2)} -d '${description.replaceAll("'", "")}'`,
    );
    const values = choicesOf(command).map((value) => `${here} -a ${value}`);
    const agents = takesAgent.includes(name) ? [`${here} -a "(${agentNames.replace("$", "\\$")})"`] : [];
    return [
      `complete -c reeve -n __fish_use_subcommand -a ${name} -d '${command.description().replaceAll("'", "")}'`,
    ].concat(options, values, agents);
  });
  return `complete -c reeve -f\n${lines.join("\n")}\n`;
}

const optionsOf = (command: Command): string[] => command.options.flatMap(({ long }) => long ?? []);
/** The values that the arguments and options of a command allow. */
const choicesOf = (command: Command): string[] =>
  [...command.registeredArguments, ...command.options].flatMap(({ argChoices }) => argChoices ?? []);
const subcommandsOf = (command: Command): string[] => command.commands.map((sub) => sub.name());
