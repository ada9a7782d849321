import { expect } from 'vitest';
import type { AnyBody } from '../../support/api-client.ts';
import { answerCheck, type RealAnswer } from '../../support/openapi/answer-check.ts';
import { type LocatedSchema, type OpenApi, operationsOf } from '../../support/openapi/document.ts';
import {
  type Comparison,
  fieldName,
  fieldsOf,
  isMissing,
  requestWithout,
  type SentRequest,
} from './required-fields.ts';

/** One success of an operation, as `src/http/openapi/recorded-answers.json` stores it. */
interface RecordedAnswer {
  /** Values of the parameters of the path and of the query. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** JSON, or text. Absent: no body, or bytes. */
  readonly body?: unknown;
}

interface Ask {
  readonly parameters?: Readonly<Record<string, string>>;
  /** Default: the first example of the document. */
  readonly body?: object;
  /** Key or cookie. Default: the key of the recorder; null: none. */
  readonly as?: string | null;
}

export interface Recorder {
  readonly answers: ReadonlyMap<string, RecordedAnswer>;
  /** Real ids that were sent instead of those in the examples of bodies, with the latter. */
  readonly documented: ReadonlyMap<string, string>;
  /** Fields of the accepted requests, left out one at a time. */
  readonly comparisons: readonly Comparison[];
  /** Calls an operation and records its success. @param operationId with `!`: the answer is not recorded. */
  ask(operationId: string, ask?: Ask): Promise<AnyBody>;
  /** Sets the id that replaces those with its prefix in examples of bodies. */
  bind(...ids: readonly string[]): void;
}

/** Longer texts are cut: a page for recipients or a mail is recognized by its beginning. */
const TEXT_MAX = 1_200;
const ID = /^([a-z]{3})_[a-z2-7]{26}$/;

const isJson = (type: string): boolean => /^application\/json(?:;|$)/.test(type);
const isText = (type: string): boolean => /^text\/|^message\/|jsonl/.test(type);

const shortened = (text: string): string => {
  const plain = text.replaceAll(/(?<=<style>)[^<]*/g, '…').replaceAll('\r\n', '\n');
  return plain.length <= TEXT_MAX ? plain : `${plain.slice(0, TEXT_MAX)}…\n`;
};

/** @param body JSON, or text; bytes are left out. */
const recordedOf = ({ parameters }: Ask, type: string, body: AnyBody): RecordedAnswer => ({
  ...(parameters !== undefined && { parameters }),
  ...(isJson(type) && { body }),
  ...(isText(type) && body !== '' && { body: shortened(body) }),
});

type Values = Readonly<Record<string, string>>;

const queryOf = ({ operation }: LocatedSchema, values: Values): Values =>
  Object.fromEntries(
    operation.parameters.flatMap(({ name, in: place }) =>
      place === 'query' && values[name] !== undefined ? [[name, values[name]] as const] : [],
    ),
  );

const urlOf = ({ path }: LocatedSchema, values: Values, query: Values): string => {
  const search = Object.keys(query).length === 0 ? '' : `?${new URLSearchParams(query)}`;
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '') + search;
};

const authorization = (as: string | null): Readonly<Record<string, string>> => {
  if (as === null) return {};
  return as.startsWith('ob_') ? { authorization: `Bearer ${as}` } : { cookie: as };
};

let visitors = 0;

/** Requests without a key are limited by address. */
const addressOf = (as: string | null): string => {
  if (as?.startsWith('ob_')) return '198.51.100.7';
  visitors += 1;
  return `203.0.113.${visitors}`;
};

export const createRecorder = (baseUrl: string, document: OpenApi, key: string): Recorder => {
  const operations = new Map(operationsOf(document).map((one) => [one.operation.operationId, one]));
  const check = answerCheck(document);
  const answers = new Map<string, RecordedAnswer>();
  const documented = new Map<string, string>();
  const comparisons: Comparison[] = [];
  const ids = new Map<string, string>();

  const ownId = (value: unknown): unknown => {
    const own = typeof value === 'string' ? ids.get(ID.exec(value)?.[1] ?? '') : undefined;
    if (own === undefined) return value;
    documented.set(own, String(value));
    return own;
  };

  const exampleOf = ({ operation }: LocatedSchema): unknown => {
    const [content] = Object.values(operation.requestBody?.content ?? {});
    const [example] = Object.values(content?.examples ?? {});
    if (example === undefined) return undefined;
    return JSON.parse(JSON.stringify(example.value), (_, value) => ownId(value));
  };

  const encoded = ({ operation }: LocatedSchema, body: unknown) => {
    if (body === undefined) return {};
    const [type = ''] = Object.keys(operation.requestBody?.content ?? {});
    if (type !== 'application/json') return { body: new URLSearchParams(body as Record<string, string>) };
    return { body: JSON.stringify(body), type };
  };

  const find = (operationId: string): LocatedSchema => {
    const located = operations.get(operationId);
    if (located === undefined) throw new Error(`there is no operation ${operationId}`);
    return located;
  };

  type Response = RealAnswer & { readonly cookie: string | undefined };

  const post = async (located: LocatedSchema, ask: Ask, request: SentRequest): Promise<Response> => {
    const { parameters = {}, as = key } = ask;
    const { body, type } = encoded(located, request.body);
    const path = urlOf(located, parameters, request.query);
    const { method } = located;
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...authorization(as),
        'sec-fetch-site': 'same-origin',
        'x-forwarded-for': addressOf(as),
        ...(type && { 'content-type': type }),
      },
      ...(body && { body }),
    });
    const { status, headers } = response;
    const cookie = headers.getSetCookie()[0]?.split(';')[0];
    return { method, path, status, headers, text: await response.text(), cookie };
  };

  /** Leaves out each field of an accepted request, one at a time: see `required-fields.ts`. */
  const compareFields = async (located: LocatedSchema, ask: Ask, request: SentRequest): Promise<void> => {
    const { operationId } = located.operation;
    for (const field of fieldsOf(located, request, document)) {
      const { documented: isDocumented, isSent } = field;
      const enforced = isSent && isMissing((await post(located, ask, requestWithout(request, field))).text, field);
      comparisons.push({ operationId, field: fieldName(field), documented: isDocumented, enforced });
    }
  };

  const succeed = async (located: LocatedSchema, ask: Ask): Promise<Response> => {
    const { operationId } = located.operation;
    const request = { body: ask.body ?? exampleOf(located), query: queryOf(located, ask.parameters ?? {}) };
    const { cookie, ...answer } = await post(located, ask, request);
    const succeeded = Math.floor(answer.status / 100) === 2;
    expect([operationId, succeeded || answer.text, check(answer)]).toEqual([operationId, true, []]);
    await compareFields(located, ask, request);
    return { ...answer, cookie };
  };

  return {
    answers,
    documented,
    comparisons,
    bind: (...made) => {
      for (const id of made) ids.set(id.slice(0, 3), id);
    },
    ask: async (name, ask = {}) => {
      const operationId = name.replace('!', '');
      const { cookie, ...answer } = await succeed(find(operationId), ask);
      const type = answer.headers.get('content-type') ?? '';
      const body: AnyBody = isJson(type) ? JSON.parse(answer.text) : answer.text;
      if (name === operationId) answers.set(operationId, recordedOf(ask, type, body));
      return isJson(type) ? { ...body, cookie } : body;
    },
  };
};
