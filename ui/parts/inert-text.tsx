import { Fragment, memo, type ReactNode, useState } from "react";
import { codeOf, describeLookAlike } from "#view";
import { count } from "./amounts.ts";

/** Characters that are invisible or change the order of other characters. */
const hidden =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Letters, digits and signs that every keyboard has. */
const plain = /^[\x20-\x7e\n\t]*$/;

/** A piece of text to show: unchanged, or the name of a character. */
type Piece = { readonly text: string } | { readonly note: string };

/** Splits a text into plain pieces and names of misleading characters. */
export function toPieces(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  for (const piece of text.split(/([ \n\t]+)/).flatMap((word) => piecesOfWord(word))) {
    const last = pieces.at(-1);
    // Adjacent pieces are merged into one node: a long text has a hundred thousand words.
    if (last && "text" in last && "text" in piece)
      pieces[pieces.length - 1] = { text: last.text + piece.text };
    else pieces.push(piece);
  }
  return pieces;
}

function piecesOfWord(word: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let rest = 0;
  for (const match of word.matchAll(hidden)) {
    if (match.index > rest) pieces.push({ text: word.slice(rest, match.index) });
    pieces.push({ note: codeOf(match[0]) });
    rest = match.index + match[0].length;
  }
  if (rest < word.length) pieces.push({ text: word.slice(rest) });
  const note = describeLookAlike(word);
  if (note !== null) pieces.push({ note });
  return pieces;
}

/**
 * Shows text of models, tools and users as text nodes: never markup, links or images. Characters that hide or disguise
 * other characters are shown by their code.
 */
export const InertText = memo(function InertText({ text }: { readonly text: string }): ReactNode {
  // Nothing in it can mislead, so it is one text node.
  if (plain.test(text)) return text;
  return toPieces(text).map((piece, index) => (
    // oxlint-disable-next-line react/no-array-index-key -- pieces have no identity of their own
    <Fragment key={index}>
      {"text" in piece ? piece.text : <span className="inv">{piece.note}</span>}
    </Fragment>
  ));
});

/** Characters of a long text that are shown at first. */
const shownAtFirst = 8_000;

/** Text that may be very long: its beginning, and the rest at the press of a button. */
export function LongText({ text }: { readonly text: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const left = text.length - shownAtFirst;
  if (isWhole || left <= 0) return <InertText text={text} />;
  return (
    <>
      <InertText text={text.slice(0, shownAtFirst)} />
      <button type="button" className="more" onClick={() => setWhole(true)}>
        Show {count(left)} more characters
      </button>
    </>
  );
}
