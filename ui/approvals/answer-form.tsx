import type { FormEvent, ReactNode } from "react";
import type { Json } from "../api/records.ts";
import { InertText } from "../parts/inert-text.tsx";

interface Field {
  readonly name: string;
  readonly type: string;
  readonly description: string | null;
  readonly choices: readonly string[] | null;
  readonly isOptional: boolean;
}

/** A question of an agent, read from its arguments, which are not trusted. */
interface Question {
  readonly text: string;
  readonly choices: readonly string[] | null;
  readonly fields: readonly Field[] | null;
}

type Fields = Readonly<Record<string, Json>>;

const isFields = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const listOf = (value: Json | undefined): readonly Json[] | null => (Array.isArray(value) ? value : null);

const textsOf = (value: Json | undefined): readonly string[] | null =>
  listOf(value)?.filter((each) => typeof each === "string") ?? null;

/** Reads a question from the arguments of its call. */
export function questionOf(value: Json): Question {
  if (!isFields(value))
    return { text: "The question is gone: its content was erased.", choices: null, fields: null };
  const { question, choices, fields } = value;
  return {
    text: typeof question === "string" ? question : "",
    choices: textsOf(choices),
    fields: listOf(fields)?.flatMap((each) => (isFields(each) ? [fieldOf(each)] : [])) ?? null,
  };
}

function fieldOf({ name, type, description, choices, optional }: Fields): Field {
  return {
    name: typeof name === "string" ? name : "",
    type: typeof type === "string" ? type : "text",
    description: typeof description === "string" ? description : null,
    choices: textsOf(choices),
    isOptional: optional === true,
  };
}

/** The question, and the form of its answer: a text, one of the choices, or fields. */
export function AnswerForm({
  question,
  isOpen,
  onAnswer,
}: {
  readonly question: Question;
  readonly isOpen: boolean;
  readonly onAnswer: (answer: Json) => void;
}): ReactNode {
  const { text, choices, fields } = question;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const answer = form.get("answer");
    onAnswer(fields ? answerOf(fields, form) : typeof answer === "string" ? answer : "");
  };
  return (
    <form className="args answer" onSubmit={submit}>
      <p className="question">
        <InertText text={text} />
      </p>
      {isOpen && choices && (
        <div className="choices">
          {[...new Set(choices)].map((choice) => (
            <button key={choice} type="button" className="btn lg" onClick={() => onAnswer(choice)}>
              <InertText text={choice} />
            </button>
          ))}
        </div>
      )}
      {isOpen && !choices && (
        <>
          {fields ? (
            fields.map((field) => <FieldInput key={field.name} field={field} />)
          ) : (
            <label>
              Your answer
              <textarea name="answer" rows={3} required />
            </label>
          )}
          <button type="submit" className="btn pri lg">
            Answer
          </button>
        </>
      )}
    </form>
  );
}

function FieldInput({ field }: { readonly field: Field }): ReactNode {
  const { name, type, description, choices, isOptional } = field;
  return (
    <label>
      <span>
        <InertText text={description ?? name} />
        {isOptional && <span className="muted"> (optional)</span>}
      </span>
      {choices ? (
        <select name={name} required={!isOptional}>
          {isOptional && <option value="" />}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          name={name}
          type={{ number: "number", boolean: "checkbox" }[type] ?? "text"}
          step="any"
          required={!isOptional && type !== "boolean"}
        />
      )}
    </label>
  );
}

/** The filled form as an answer. An optional field that is empty is left out. */
function answerOf(fields: readonly Field[], form: FormData): Json {
  const entries = fields.flatMap(({ name, type, isOptional }): [string, Json][] => {
    const value = form.get(name);
    if (type === "boolean") return [[name, value !== null]];
    if (typeof value !== "string" || (value === "" && isOptional)) return [];
    return [[name, type === "number" ? Number(value) : value]];
  });
  return Object.fromEntries(entries);
}
