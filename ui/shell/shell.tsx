import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { useApprovals } from "../api/queries.ts";
import { useMe } from "../api/session.tsx";
import { Announcer } from "../parts/announcer.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useServerStatus } from "../live/connection.ts";
import { ServerLines } from "../parts/server-lines.tsx";
import { Toasts } from "../parts/toast.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { Brand } from "./brand.tsx";
import { BuildFailure } from "./build-failure.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { CommandBar } from "./command-bar.tsx";
import { useCopyKeys } from "./copy-place.ts";
import { KeyList } from "./key-list.tsx";

interface Place {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
}

const places: readonly Place[] = [
  { path: "/runs", name: "Runs", icon: "runs" },
  { path: "/approvals", name: "Approvals", icon: "approvals" },
  { path: "/spend", name: "Spend", icon: "spend" },
  { path: "/sessions", name: "Sessions", icon: "sessions" },
  { path: "/audit", name: "Audit", icon: "audit" },
  { path: "/play", name: "Playground", icon: "play" },
  { path: "/agents", name: "Agents", icon: "agents" },
];

const isBelow = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`);

/** The frame of every screen: where the reader is, where they can go, and whether anything waits for them. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const [path, go] = useLocation();
  const [open, setOpen] = useState<"commands" | "keys" | null>(null);
  const { lostSince } = useServerStatus();
  useKeys({
    "g r": () => go("/runs"),
    "g a": () => go("/approvals"),
    "g s": () => go("/spend"),
    "g p": () => go("/play"),
    "g c": () => go("/sessions"),
    "g u": () => go("/audit"),
    "g t": () => go("/agents"),
    "?": () => setOpen("keys"),
  });
  useCopyKeys();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key !== "k" || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      setOpen("commands");
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <div className={lostSince === null ? "app" : "app stale"}>
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <TopBar onSearch={() => setOpen("commands")} />
      <Navigation onKeys={() => setOpen("keys")} />
      <main className="main" id="main" tabIndex={-1}>
        <ServerLines />
        <BuildFailure />
        <ErrorBoundary key={path.split("/", 3).join("/")}>{children}</ErrorBoundary>
      </main>
      <Toasts>
        <Announcer />
      </Toasts>
      {open === "commands" && <CommandBar onClose={() => setOpen(null)} onKeys={() => setOpen("keys")} />}
      {open === "keys" && <KeyList onClose={() => setOpen(null)} />}
    </div>
  );
}

function TopBar({ onSearch }: { readonly onSearch: () => void }): ReactNode {
  const { tenant, id } = useMe();
  const isLost = useServerStatus().lostSince !== null;
  const name = tenant ?? id;
  return (
    <header className="top">
      <Brand />
      <Breadcrumbs />
      <div className="spring" />
      <button type="button" className="find" onClick={onSearch} data-search="">
        <Icon name="search" />
        Search or run a command
        <span className="kbd" aria-hidden="true">
          ⌘K
        </span>
      </button>
      <div className="live">
        <span className={isLost ? "dot off" : "dot"} />
        {isLost ? "lost" : "live"}
      </div>
      <div className="who">
        <span className="av" aria-hidden="true">
          {name.slice(0, 1).toUpperCase()}
        </span>
        {name}
      </div>
    </header>
  );
}

function Breadcrumbs(): ReactNode {
  const [path] = useLocation();
  const [first = "", second, third, fourth] = path.slice(1).split("/");
  const place = places.find((each) => each.path === `/${first}`);
  if (!place) return null;
  return (
    <nav className="crumbs" aria-label="Breadcrumb">
      {second === undefined ? (
        <b>{place.name}</b>
      ) : (
        <>
          <Link href={place.path}>{place.name}</Link>
          <i aria-hidden="true">/</i>
          {third === undefined ? (
            <b className="el">{decodeURIComponent(second)}</b>
          ) : (
            <Link className="el" href={`${place.path}/${second}`}>
              {decodeURIComponent(second)}
            </Link>
          )}
          {third !== undefined && <Below run={`${place.path}/${second}`} third={third} fourth={fourth} />}
        </>
      )}
    </nav>
  );
}

/** The part of a breadcrumb below a run: one of its tabs, or an agent and its step. */
function Below({
  run,
  third,
  fourth,
}: {
  readonly run: string;
  readonly third: string;
  readonly fourth: string | undefined;
}): ReactNode {
  return (
    <>
      <i aria-hidden="true">/</i>
      {fourth === undefined ? <b>{third}</b> : <Link href={`${run}?at=~${third}`}>~{third}</Link>}
      {fourth !== undefined && (
        <>
          <i aria-hidden="true">/</i>
          <b className="el">{decodeURIComponent(fourth).replace(":", " ")}</b>
        </>
      )}
    </>
  );
}

function Navigation({ onKeys }: { readonly onKeys: () => void }): ReactNode {
  const [path] = useLocation();
  const waiting = useApprovals("pending").data?.length ?? 0;
  return (
    <nav className="nav" aria-label="Main">
      {places.map((place) => (
        <Link
          key={place.path}
          href={place.path}
          aria-current={isBelow(path, place.path) ? "page" : undefined}
        >
          <Icon name={place.icon} size={15} />
          {place.name}
          {place.path === "/approvals" && waiting > 0 && (
            <span className="n ask">
              {waiting}
              <span className="for-readers"> waiting</span>
            </span>
          )}
        </Link>
      ))}
      <div className="foot">
        <button type="button" onClick={onKeys}>
          <Icon name="keys" /> Keys
          <span className="kbd" aria-hidden="true">
            ?
          </span>
        </button>
      </div>
    </nav>
  );
}
