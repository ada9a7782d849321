import type { ApiOperation } from './document.ts';

const ID = /\{(\w+)\}/g;

/** As a shell takes it: in single quotes, of which none may be left open. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

interface Body {
  readonly type: string;
  readonly value: unknown;
}

const JSON_TYPE = 'application/json';

/** A form is what curl sends unless it is told otherwise. */
const bodyWords = ({ type, value }: Body): readonly string[] =>
  type === JSON_TYPE
    ? [`-H 'Content-Type: ${JSON_TYPE}'`, `-d ${quoted(JSON.stringify(value, null, 2))}`]
    : [`-d ${quoted(new URLSearchParams(value as Record<string, string>).toString())}`];

/** An operation as a command line. @param body absent: none. */
export const curl = (
  { method, url }: { readonly method: string; readonly url: string },
  { security, parameters }: ApiOperation,
  body?: Body,
): string => {
  const example = (name: string): string => {
    const prefix = /^\^(\w+)_/.exec(parameters.find((one) => one.name === name)?.schema.pattern ?? '')?.[1];
    return prefix === undefined ? `{${name}}` : `${prefix}_…`;
  };
  const target = url.replaceAll(ID, (_, name: string) => example(name));
  const idempotent = parameters.some(({ name }) => name === 'Idempotency-Key');
  return [
    `curl -sS ${method === 'GET' ? '' : `-X ${method} `}${quoted(target)}`,
    ...(security.length > 0 ? ['-H "Authorization: Bearer $OUTBOX_KEY"'] : []),
    ...(idempotent ? [`-H 'Idempotency-Key: order-1'`] : []),
    ...(body === undefined ? [] : bodyWords(body)),
  ].join(' \\\n  ');
};
