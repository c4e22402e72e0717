import { Component, type ReactNode } from "react";
import { Failure } from "../parts/states.tsx";

/** Shows an error of a screen in its place. The rest of the page goes on. */
export class ErrorBoundary extends Component<
  { readonly children: ReactNode },
  { readonly problem: string | null }
> {
  override state: { readonly problem: string | null } = { problem: null };

  static getDerivedStateFromError(error: unknown): { readonly problem: string } {
    return { problem: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (problem === null) return this.props.children;
    return (
      <Failure
        title="This screen has an error"
        detail={problem}
        onRetry={() => this.setState({ problem: null })}
      />
    );
  }
}
