import { lexer, type Token, type Tokens } from "marked";
import { Fragment, type ReactNode, useMemo } from "react";
import { InertText } from "./inert-text.tsx";

/** Longer texts, and deeper ones, are shown as they are. */
const maxLength = 100_000;
const maxDepth = 20;

/** Tokens of a text; null: it is too long, or the lexer cannot read it. */
function readTokens(text: string): readonly Token[] | null {
  if (text.length > maxLength) return null;
  try {
    return lexer(text, { gfm: true });
  } catch {
    return null;
  }
}

/**
 * Renders Markdown as elements: headings, lists, code, tables and emphasis, never via HTML. Images become their text,
 * links their text with the address beside it. Neither is ever loaded or opened.
 */
export function Markdown({ text }: { readonly text: string }): ReactNode {
  const tokens = useMemo(() => readTokens(text), [text]);
  if (!tokens)
    return (
      <pre>
        <InertText text={text} />
      </pre>
    );
  return (
    <div className="md">
      <TokenList tokens={tokens} depth={0} />
    </div>
  );
}

interface ListProps {
  readonly tokens: readonly Token[];
  readonly depth: number;
}

function TokenList({ tokens, depth }: ListProps): ReactNode {
  return tokens.map((token, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- tokens have no identity of their own
    <Fragment key={index}>
      {depth > maxDepth ? <InertText text={token.raw} /> : toElement(token, depth + 1)}
    </Fragment>
  ));
}

/** Elements by type of token. A type that is not listed, such as `html`, is shown as its text. */
const elements: Readonly<Record<string, ((token: Tokens.Generic, depth: number) => ReactNode) | undefined>> =
  {
    space: () => null,
    hr: () => <hr />,
    br: () => <br />,
    heading: (token, depth) => <p className="md-head">{childrenOf(token, depth)}</p>,
    paragraph: (token, depth) => <p>{childrenOf(token, depth)}</p>,
    text: (token, depth) => (token.tokens ? childrenOf(token, depth) : <InertText text={textOf(token)} />),
    escape: (token) => <InertText text={textOf(token)} />,
    strong: (token, depth) => <strong>{childrenOf(token, depth)}</strong>,
    em: (token, depth) => <em>{childrenOf(token, depth)}</em>,
    del: (token, depth) => <s>{childrenOf(token, depth)}</s>,
    codespan: (token) => (
      <code>
        <InertText text={textOf(token)} />
      </code>
    ),
    code: (token) => (
      <pre>
        <InertText text={textOf(token)} />
      </pre>
    ),
    blockquote: (token, depth) => <blockquote>{childrenOf(token, depth)}</blockquote>,
    checkbox: ({ checked }) => (checked ? "☑ " : "☐ "),
    list: listOf,
    table: tableOf,
    link: (token, depth) => (
      <>
        {childrenOf(token, depth)} <Address of={token} />
      </>
    ),
    image: (token) => (
      <>
        <InertText text={textOf(token) === "" ? "image" : textOf(token)} /> <Address of={token} />
      </>
    ),
  };

function toElement(token: Token, depth: number): ReactNode {
  const make = Object.hasOwn(elements, token.type) ? elements[token.type] : undefined;
  return make ? make(token, depth) : <InertText text={token.raw} />;
}

/** The lexer escapes nothing: its text is the source text. */
const textOf = ({ text, raw }: Tokens.Generic): string => (typeof text === "string" ? text : raw);

function childrenOf(token: Tokens.Generic, depth: number): ReactNode {
  return token.tokens ? (
    <TokenList tokens={token.tokens} depth={depth} />
  ) : (
    <InertText text={textOf(token)} />
  );
}

function Address({ of: { href } }: { readonly of: Tokens.Generic }): ReactNode {
  return (
    <span className="md-address">
      (<InertText text={String(href)} />)
    </span>
  );
}

function listOf(token: Tokens.Generic, depth: number): ReactNode {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its type is `list`
  const { items, ordered } = token as Tokens.List;
  const rows = items.map((item, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- items have no identity of their own
    <li key={index}>
      <TokenList tokens={item.tokens} depth={depth} />
    </li>
  ));
  return ordered ? <ol>{rows}</ol> : <ul>{rows}</ul>;
}

function tableOf(token: Tokens.Generic, depth: number): ReactNode {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its type is `table`
  const { header, rows } = token as Tokens.Table;
  const cells = (row: readonly Tokens.TableCell[], isHead: boolean): ReactNode =>
    row.map((cell, index) => {
      const content = <TokenList tokens={cell.tokens} depth={depth} />;
      // oxlint-disable-next-line react/no-array-index-key -- cells have no identity of their own
      return isHead ? <th key={index}>{content}</th> : <td key={index}>{content}</td>;
    });
  return (
    <table>
      <thead>
        <tr>{cells(header, true)}</tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- rows have no identity of their own
          <tr key={index}>{cells(row, false)}</tr>
        ))}
      </tbody>
    </table>
  );
}
