import { type ReactNode, useEffect, useState } from "react";
import { Link, useLocation } from "wouter";
import { useApprovals } from "../api/queries.ts";
import { useMe } from "../api/session.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { useServerStatus } from "../live/connection.ts";
import { ServerLines } from "../parts/server-lines.tsx";
import { Toasts } from "../parts/toast.tsx";
import { useKeys } from "../parts/use-keys.ts";
import { Brand } from "./brand.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { CommandBar } from "./command-bar.tsx";
import { KeyList } from "./key-list.tsx";

interface Place {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
}

const places: readonly Place[] = [
  { path: "/runs", name: "Runs", icon: "runs" },
  { path: "/approvals", name: "Approvals", icon: "approvals" },
  { path: "/play", name: "Playground", icon: "play" },
];

/** The frame of every screen: where the reader is, where they can go, and whether anything waits for them. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const [path, go] = useLocation();
  const [open, setOpen] = useState<"commands" | "keys" | null>(null);
  const { lostSince } = useServerStatus();
  useKeys({
    "g r": () => go("/runs"),
    "g a": () => go("/approvals"),
    "g p": () => go("/play"),
    "?": () => setOpen("keys"),
  });
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
        <ErrorBoundary key={path}>{children}</ErrorBoundary>
      </main>
      <Toasts />
      {open === "commands" && <CommandBar onClose={() => setOpen(null)} />}
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
        Go to or search
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
  const [first = "", second] = path.slice(1).split("/");
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
          <b className="el">{decodeURIComponent(second)}</b>
        </>
      )}
    </nav>
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
          aria-current={path.startsWith(place.path) ? "page" : undefined}
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
