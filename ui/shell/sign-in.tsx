import { type FormEvent, type ReactNode, useState } from "react";
import { ApiError, errorText, request } from "../api/http.ts";
import { Brand } from "./brand.tsx";

/** Asks for an API key, once: the server answers with a session that scripts of the page cannot read. */
export function SignIn({ onSignedIn }: { readonly onSignedIn: () => void }): ReactNode {
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const key = new FormData(event.currentTarget).get("key");
    if (typeof key !== "string" || key.trim() === "") return setProblem("Enter a key.");
    request("/session", { method: "POST", headers: { authorization: `Bearer ${key.trim()}` } }).then(
      onSignedIn,
      (error: unknown) =>
        setProblem(error instanceof ApiError && error.status === 401 ? "Unknown key." : errorText(error)),
    );
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <Brand />
        <h1>Sign in with an API key</h1>
        <p className="sub">The page keeps a session, not the key. It ends with the key, or after 12 hours.</p>
        <label>
          API key
          <input name="key" type="password" autoComplete="off" spellCheck={false} />
        </label>
        {problem !== null && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" className="btn pri lg">
          Sign in
        </button>
      </form>
    </main>
  );
}
