import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { nameIn, type OpenApi, type OpenApiResponse } from './document.ts';
import { type DocumentedRequest, responseFinder } from './find-response.ts';

/** One request and its response. */
export interface RealAnswer extends DocumentedRequest {
  readonly headers: { get(name: string): string | null };
  readonly text: string;
}

type Header = OpenApi['components']['headers'][string];
type DeclaredHeader = OpenApiResponse['headers'][string];

/** Returns the ways in which a response differs from the document. Empty: it conforms. */
export type AnswerCheck = (answer: RealAnswer) => readonly string[];

type Validate = (schema: object, value: unknown) => readonly string[];

const ROOT = 'document';
/** Statuses of responses that can be sent before rate limits are counted. */
const WITHOUT_LIMITS = new Set([401, 403, 429, 500, 503]);

/** Rejects undocumented fields. Clients must accept new fields, but here an undocumented field is a mistake. */
export const closed = <T>(value: T): T => closedPart(value) as T;

const closedPart = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closedPart);
  if (typeof value !== 'object' || value === null) return value;
  const inner = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closedPart(one)]));
  return 'properties' in value && !('additionalProperties' in value)
    ? { ...inner, additionalProperties: false }
    : inner;
};

const told = (errors: readonly ErrorObject[] | null | undefined): readonly string[] =>
  (errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);

const validator = (schemas: OpenApi['components']['schemas']): Validate => {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ components: { schemas: closed(schemas) } }, ROOT);
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/components', `"${ROOT}#/components`);
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    return validate(value) ? [] : told(validate.errors);
  };
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isDue = (name: string, required: boolean, status: number): boolean =>
  required || (name.startsWith('RateLimit') && !WITHOUT_LIMITS.has(status));

const codeProblems = (body: unknown, codes: readonly string[] | undefined): readonly string[] => {
  const { code } = (body as { error?: { code?: string } } | undefined)?.error ?? {};
  return codes === undefined || codes.includes(String(code)) ? [] : [`code ${code} is not one of ${codes.join(', ')}`];
};

/** The declared content of the media type that was sent. */
const contentOf = (declared: OpenApiResponse, sentType: string) => {
  const contents = Object.entries(declared.content ?? {});
  return contents.find(([type]) => sentType.startsWith(type)) ?? contents[0] ?? [];
};

const bodyProblems = (answer: RealAnswer, declared: OpenApiResponse, validate: Validate): readonly string[] => {
  const sentType = answer.headers.get('content-type') ?? '';
  const [type, content] = contentOf(declared, sentType);
  if (type === undefined || content === undefined || answer.method === 'HEAD') {
    return answer.text === '' ? [] : ['it has a body'];
  }
  if (!sentType.startsWith(type)) return [`it is not ${type}`];
  // Responses for people carry no error code.
  if (type !== 'application/json') return validate(content.schema, answer.text);
  const body = parsed(answer.text);
  return [...validate(content.schema, body), ...codeProblems(body, declared['x-error-codes'])];
};

/** Checks responses against an OpenAPI document: the status, the headers and the body. */
export const answerCheck = (document: OpenApi): AnswerCheck => {
  const { headers, schemas } = document.components;
  const validate = validator(schemas);
  const responseTo = responseFinder(document);

  const headerOf = (declared: DeclaredHeader): Header =>
    '$ref' in declared ? (headers[nameIn(String(declared.$ref))] ?? { schema: {} }) : (declared as Header);

  const headerProblems = (answer: RealAnswer, name: string, declared: DeclaredHeader): readonly string[] => {
    const { required = false, schema } = headerOf(declared);
    const given = answer.headers.get(name);
    if (given === null) return isDue(name, required, answer.status) ? [`it has no ${name}`] : [];
    const value = (schema as { readonly type?: string }).type === 'integer' ? Number(given) : given;
    return validate(schema, value).map((problem) => `${name}: ${given}: ${problem}`);
  };

  return (answer) => {
    const declared = responseTo(answer);
    if (declared === undefined) return ['the status is not documented'];
    const named = Object.entries(declared.headers);
    return [
      ...named.flatMap(([name, header]) => headerProblems(answer, name, header)),
      ...bodyProblems(answer, declared, validate),
    ];
  };
};
