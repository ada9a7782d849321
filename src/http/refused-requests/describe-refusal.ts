import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../../domain/api-key/key-authority.ts';
import type { RefusedBody, RefusedField, RefusedRequest } from '../../domain/ports/requests.ts';
import type { ErrorBody } from '../errors/error-response.ts';
import { outerPaths, type Place, type RedactedBody, redactBody } from './redact-body.ts';
import { redactName, redactPath, redactSentence } from './redact-text.ts';

/** A refused request as it is recorded: what the error said, and where in the body that is. */

export type DescribedRefusal = Omit<RefusedRequest, 'count'> & {
  /** In clear, until the digests are made. */
  readonly addresses: readonly string[];
};

type Refusal = ErrorBody['error'];

/** Problems shown of a refusal. More do not fit on a screen. */
const PROBLEMS_MAX = 20;
const SENTENCE_CHARACTERS_MAX = 300;
const USER_AGENT_CHARACTERS_MAX = 512;
const FIELD_STEP = /[^.[\]]+/g;

interface FieldSentence {
  readonly field: string;
  readonly sentence: string;
  /** `to[1].address`. */
  readonly path: string;
  /** The name is the problem, not the value. */
  readonly ofName: boolean;
}

/** The text after the path with which a sentence begins: `to[1] must be …`. Names may contain spaces. */
const PREDICATE = /(?::| (?:must|is|are|has|have|was|were|cannot|can|may|needs|names)\b)/;

/** A sentence begins with the path of what it is about, or is about the whole field. */
const splitSentence = (field: string, sentence: string): readonly [path: string, predicate: string] => {
  const end = sentence.slice(0, SENTENCE_CHARACTERS_MAX).search(PREDICATE);
  return end > 0 && sentence.startsWith(field) ? [sentence.slice(0, end), sentence.slice(end)] : [field, ''];
};

/** A path in a field: where a name may be more than a name, no more than the field and its indices are left. */
const redactRest = (path: string, field: string): string => {
  const rest = path.slice(field.length);
  if ((rest.match(FIELD_STEP) ?? []).every((step) => /^\d+$/.test(step) || redactName(step) === step)) return path;
  return `${field}${/^(?:\[\d+\])*/.exec(rest)?.[0] ?? ''}.${redactName('')}`;
};

/** @param path begins with the field. */
const redactPathIn = (field: string, path: string): string =>
  redactName(field) === field ? redactRest(path, field) : redactName(field);

const toldOf = (field: string, sentence: string): FieldSentence => {
  const [path, predicate] = splitSentence(field, sentence);
  return {
    field,
    sentence: predicate === '' ? sentence : redactPathIn(field, path) + predicate,
    path,
    ofName: sentence.endsWith('is not a known field'),
  };
};

const toldIn = ({ details = {} }: Refusal): readonly FieldSentence[] =>
  Object.entries(details)
    .flatMap(([field, sentences]) => sentences.map((sentence) => toldOf(field, sentence)))
    .slice(0, PROBLEMS_MAX);

const NOWHERE = { pointer: null, line: null, column: null, start: null, end: null };

const placed = (place: Place | undefined): Omit<RefusedField, 'field' | 'sentence'> =>
  place === undefined
    ? NOWHERE
    : {
        pointer: place.pointer,
        line: place.line,
        column: place.column,
        start: place.marked?.start ?? null,
        end: place.marked?.end ?? null,
      };

/** Place of the field or, if it is missing, of the object that should contain it. */
const placeOf = ({ path, ofName }: FieldSentence, { places, names }: RedactedBody): Place | undefined => {
  const own = ofName ? (names.get(path) ?? places.get(path)) : places.get(path);
  const outer = outerPaths(path).find((one) => places.has(one));
  return own ?? (outer === undefined ? undefined : places.get(outer));
};

const fieldOf = (told: FieldSentence, body: RedactedBody | null): RefusedField => ({
  field: redactName(told.field),
  sentence: redactSentence(told.sentence, SENTENCE_CHARACTERS_MAX),
  ...(body === null ? NOWHERE : placed(placeOf(told, body))),
});

/** Pointers hold names too. */
const withoutNames = (field: RefusedField): RefusedField => ({
  ...field,
  pointer:
    field.pointer
      ?.split('/')
      .map((step, index) => (index === 0 || /^\d+$/.test(step) ? step : redactName(step)))
      .join('/') ?? null,
});

/** Place where the JSON becomes invalid; empty if the request was refused for another reason. */
const faultIn = ({ code }: Refusal, body: RedactedBody | null): readonly RefusedField[] =>
  code !== 'invalid_json' || body === null || body.fault === null
    ? []
    : [
        {
          field: 'body',
          sentence: `body is not JSON from here on: JSON has ${body.fault.expected} in this place`,
          ...placed(body.fault),
        },
      ];

const bodyOf = ({ request, withBody }: DescribedRequest, told: readonly FieldSentence[]): RedactedBody | null => {
  const asked = told.map(({ path }) => path);
  return withBody && request.sentJson !== null ? redactBody(request.sentJson, asked) : null;
};

const shownBody = (body: RedactedBody | null): RefusedBody | null =>
  body === null || body.text === '' ? null : { text: body.text, formatted: body.formatted, cut: body.cut };

const agentOf = (sent: string | undefined): string | null =>
  sent === undefined ? null : redactSentence(sent, USER_AGENT_CHARACTERS_MAX);

const domainOf = ({ member, auditor, domain }: Caller): string | null =>
  member === undefined && auditor === undefined ? domain.id : null;

export interface DescribedRequest {
  readonly request: FastifyRequest;
  /** The reply, already sent. */
  readonly reply: FastifyReply;
  readonly at: Date;
  /** Whether the body is read and shown. */
  readonly withBody: boolean;
}

/** The record of a refused request. */
export const describeRefusal = (refusal: Refusal, caller: Caller, described: DescribedRequest): DescribedRefusal => {
  const { request, reply, at } = described;
  const told = toldIn(refusal);
  const body = bodyOf(described, told);
  return {
    id: request.id,
    organizationId: caller.organizationId,
    environment: caller.environment,
    domainId: domainOf(caller),
    principalId: caller.keyId,
    at,
    method: request.method,
    route: request.is404 ? null : (request.routeOptions.url ?? null),
    path: redactPath(request.url),
    status: reply.statusCode,
    code: refusal.code,
    message: redactSentence(refusal.message, SENTENCE_CHARACTERS_MAX),
    problems: [...told.map((one) => fieldOf(one, body)), ...faultIn(refusal, body)].map(withoutNames),
    body: shownBody(body),
    clientAddress: request.ip,
    userAgent: agentOf(request.headers['user-agent']),
    durationMs: Math.round(reply.elapsedTime),
    addresses: body?.addresses ?? [],
  };
};
