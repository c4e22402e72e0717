import { Json, type Page, type PageRequest } from "#kernel";
import type { ScheduleDetails, ScheduleOptions, ScheduleView } from "#runtime";
import type { Http } from "./http.ts";
import { search } from "./search.ts";
import type { SentInput } from "./sent-input.ts";
import type { StartSettings } from "./start-settings.ts";

/** User whose schedule is addressed. Default: the user of the request, or none. */
export interface ScheduleUser {
  readonly user?: string | undefined;
}

/** A schedule to set over HTTP. The tenant follows from the key. */
export interface ScheduleSettings
  extends
    Pick<ScheduleOptions, "cron" | "timeZone" | "catchUp" | "overlap">,
    Pick<
      StartSettings,
      "user" | "metadata" | "retention" | "budget" | "spawn" | "priority" | "deadlineS" | "labels"
    > {
  /** The name of the agent. */
  readonly agent: string;
  readonly input: SentInput;
}

/** Schedules, over HTTP. Every method throws a {@link ClientError}. */
export class ClientSchedules {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a schedule, or replaces the one of that id. The limits of the key hold at each tick. */
  async set(id: string, settings: ScheduleSettings): Promise<ScheduleView> {
    return Json.as(await this.#http.put(toSchedulePath(id), settings));
  }

  /** Reads a schedule. Keys without the scope `content` receive no input. */
  async get(
    id: string,
    query: ScheduleUser = {},
  ): Promise<ScheduleView & Partial<Pick<ScheduleDetails, "input">>> {
    return Json.as(await this.#http.get(`${toSchedulePath(id)}${search(query)}`));
  }

  /** Schedules, by user and id. */
  list(query: ScheduleUser & Partial<PageRequest> = {}): Promise<Page<ScheduleView>> {
    return this.#http.list(`/schedules${search(query)}`);
  }

  /** Removes a schedule. Trees that live go on. */
  async remove(id: string, query: ScheduleUser = {}): Promise<void> {
    await this.#http.delete(`${toSchedulePath(id)}${search(query)}`);
  }

  /** Pauses a schedule: its ticks start nothing until it is resumed. */
  async pause(id: string, query: ScheduleUser = {}): Promise<ScheduleView> {
    return Json.as(await this.#http.post(`${toSchedulePath(id)}/pause`, query));
  }

  /** Lets a schedule tick again, from now. */
  async resume(id: string, query: ScheduleUser = {}): Promise<ScheduleView> {
    return Json.as(await this.#http.post(`${toSchedulePath(id)}/resume`, query));
  }
}

const toSchedulePath = (id: string): string => `/schedules/${encodeURIComponent(id)}`;
