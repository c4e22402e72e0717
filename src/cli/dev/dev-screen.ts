import { moment, clean } from "#view";
import { LiveRegion } from "../live/live-region.ts";
import { paintOf, type Terminal } from "../terminal.ts";
import { cutToWidth } from "../text/width.ts";
import type { BuildsState } from "./builds.ts";

/** The addresses of `reeve dev`. */
interface DevAddress {
  readonly file: string;
  readonly url: string;
  readonly admin: string;
}

/** Returns the address of the dashboard of a server. */
export const dashboardOf = (url: string): string => `${url}/ui`;

/** The output of `reeve dev`. */
export interface DevScreen {
  /** Shows the current activity before the server is ready. */
  progress(words: string): void;
  show(place: DevAddress, state: BuildsState): void;
  log(words: string): void;
  close(): void;
}

/** A calm screen on a terminal; lines elsewhere; JSON if wanted. */
export function devScreen(terminal: Terminal, json: boolean): DevScreen {
  if (json) return new JsonScreen(terminal);
  return terminal.out.isTTY ? new CalmScreen(terminal) : new LineScreen(terminal);
}

class JsonScreen implements DevScreen {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  progress(words: string): void {
    this.#say({ type: "progress", words });
  }

  show(place: DevAddress, state: BuildsState): void {
    this.#say({ type: state.phase, ...place, ...state });
  }

  log(words: string): void {
    this.#say({ type: "log", words });
  }

  close(): void {}

  #say(value: object): void {
    this.#terminal.out.write(`${JSON.stringify(value)}\n`);
  }
}

class LineScreen implements DevScreen {
  readonly #terminal: Terminal;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  progress(words: string): void {
    this.#terminal.out.write(`${words}\n`);
  }

  show({ url }: DevAddress, { failure, number, phase, agents }: BuildsState): void {
    // The first build has no number until it has loaded.
    const build = number === 0 ? "first build" : `build ${number}`;
    const whose = agents.length === 0 ? "" : `: ${agents.join(", ")}`;
    const where = phase === "ready" ? dashboardOf(url) : url;
    this.#terminal.out.write(`${failure ?? `${build} ${phase}${whose}, at ${where}`}\n`);
  }

  log(words: string): void {
    this.#terminal.out.write(`${words}\n`);
  }

  close(): void {}
}

class CalmScreen implements DevScreen {
  readonly #terminal: Terminal;
  readonly #region: LiveRegion;
  #lines: readonly string[] = [];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#region = new LiveRegion(terminal.out);
  }

  progress(words: string): void {
    this.#draw([words]);
  }

  show(place: DevAddress, state: BuildsState): void {
    this.#draw(devLines(place, state, this.#terminal));
  }

  /** Output of workers is printed above the screen and scrolls away. */
  log(words: string): void {
    this.#region.clear();
    this.#terminal.out.write(`${words}\n`);
    this.#region.draw(this.#lines);
  }

  close(): void {
    this.#region.clear();
  }

  #draw(lines: readonly string[]): void {
    this.#lines = lines;
    this.#region.draw(lines);
  }
}

/** The width of a name on the left, and of the gap after it. */
const nameWidth = 11;

/** Returns the screen: addresses, agents, and runs. */
export function devLines(
  { file, url, admin }: DevAddress,
  state: BuildsState,
  terminal: Terminal,
): readonly string[] {
  const paint = paintOf(terminal, terminal.out);
  const width = terminal.out.columns;
  const row = (name: string, words: string): string =>
    `  ${paint("faint", name.padEnd(nameWidth))}${cutToWidth(words, width - nameWidth - 3)}`;
  const older = state.alive > 1 ? `, ${state.alive - 1} older still running` : "";
  const phase = {
    loading: "loading …",
    restarting: "process ended; restarting …",
    ready: `since ${moment(state.since)}`,
  };
  const [first = "lead"] = state.agents;
  const failed = (state.failure ?? "")
    .split("\n")
    .map((line) => paint("bad", `  ${cutToWidth(clean(line), width - 2)}`));
  return [
    `${paint("strong", "reeve dev")} · ${cutToWidth(clean(file), width - 13)}`,
    row("dashboard", `${dashboardOf(url)}   (press o)`),
    row("server", url),
    row("restate", admin),
    row("agents", state.agents.join(", ")),
    row("build", `${state.number}, ${phase[state.phase]}${older}`),
    ...(state.failure === null
      ? []
      : ["", paint("bad", "  the newest code does not load; the previous build still serves:"), ...failed]),
    "",
    paint(
      "faint",
      cutToWidth(
        `  try: ${terminal.command} run ${first} "..." · Ctrl-C stops everything; runs continue on the next start`,
        width,
      ),
    ),
  ];
}
