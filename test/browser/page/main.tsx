import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Chat } from "./chat.tsx";

/** `?api=` is where the agent is asked, `?chat=` names the conversation. */
const asked = new URLSearchParams(location.search);
const root = document.querySelector("main");
if (root)
  createRoot(root).render(
    <StrictMode>
      <Chat api={asked.get("api") ?? ""} id={asked.get("chat") ?? ""} />
    </StrictMode>,
  );
