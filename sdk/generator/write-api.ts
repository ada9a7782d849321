import { capitalized, functionOf, isInSdk, resourceOf } from '../../src/http/docs/sdk-call.ts';
import { commentOf, componentOf, declarationOf, membersOf, nameOf, reachable, type Schema, typeOf } from './types.ts';

/**
 * Writes `sdk/src/api/{schemas,resources}.ts` from the OpenAPI document: a type for each schema, a function for each
 * operation. A test compares both with the document of the service.
 */

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: Schema;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

export interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Located extends Operation {
  readonly method: string;
  readonly path: string;
}

/** Nothing refers to it: `SendMessage` stands for both. */
const TWIN = 'AnalyzeMessageRequest';
/** Types of `message-body.ts`, which also take files and React elements. */
const EXTENDED: Readonly<Record<string, string>> = {
  SendMessageRequest: 'SendMessage',
  [TWIN]: 'SendMessage',
  SendBatchRequest: 'SendBatch',
};
/** They are tried again whatever became of them. */
const READ_BY_POST = new Set(['analyzeMessage', 'renderTemplate', 'previewErasure']);
const HEADER = '// Generated from /openapi.json: see docs/contributing.md.\n\n';

const located = ({ paths }: Document): readonly Located[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => isInSdk(operation))
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

const queryOf = ({ parameters = [] }: Operation): readonly Parameter[] =>
  parameters.filter((one) => one.in === 'query');

const queryName = ({ operationId }: Operation): string => `${capitalized(operationId)}Query`;

const queryDeclaration = (operation: Operation): string => {
  const parameters = queryOf(operation);
  if (parameters.length === 0) return '';
  const properties = Object.fromEntries(
    parameters.map(({ name, description, schema }) => [
      name,
      description === undefined ? schema : { ...schema, description },
    ]),
  );
  const required = parameters.filter((one) => one.required === true).map(({ name }) => name);
  return `export interface ${queryName(operation)} ${membersOf({ properties, required }, { indent: '', isSent: true })}\n`;
};

/** Success of an operation: its media type and schema. */
const answerOf = ({ responses }: Operation): { readonly isJson: boolean; readonly schema: Schema | null } => {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  const [mediaType, content] = Object.entries(success?.content ?? {})[0] ?? [];
  return { isJson: mediaType === undefined || mediaType === 'application/json', schema: content?.schema ?? null };
};

/** The schema of a list's items; null: it is no list that goes on. */
const itemOf = (schema: Schema | null, { schemas }: Document['components']): Schema | null => {
  const { properties } = (schema?.$ref === undefined ? schema : schemas[componentOf(schema.$ref)]) ?? {};
  return properties?.next_cursor === undefined ? null : (properties.data?.items ?? null);
};

const bodyName = ({ requestBody }: Operation): string | null => {
  const schema = requestBody?.content['application/json']?.schema;
  if (schema?.$ref === undefined) return null;
  const component = componentOf(schema.$ref);
  return EXTENDED[component] ?? nameOf(component);
};

const hasHeader = ({ parameters = [] }: Operation, name: string): boolean =>
  parameters.some((one) => one.name === name);

const optionsOf = (operation: Operation): string => {
  if (hasHeader(operation, 'Idempotency-Key')) return 'SendOptions';
  return hasHeader(operation, 'If-Match') ? 'ChangeOptions' : 'RequestOptions';
};

/** Its parameters, in the order: ids of the path, body, query, options. */
const signatureOf = (operation: Operation): string => {
  const { parameters = [], requestBody } = operation;
  const body = bodyName(operation);
  const query = queryOf(operation);
  const isOptional = query.every((one) => one.required !== true);
  return [
    ...parameters.filter((one) => one.in === 'path').map(({ name }) => `${name}: string`),
    ...(body === null ? [] : [`body: ${body}${requestBody?.required === true ? '' : ' = {}'}`]),
    ...(query.length === 0 ? [] : [`query: ${queryName(operation)}${isOptional ? ' = {}' : ''}`]),
    `options?: ${optionsOf(operation)}`,
  ].join(', ');
};

const callOf = (operation: Located, components: Document['components']): string => {
  const { method, path } = operation;
  const parts = [
    `method: '${method}'`,
    path.includes('{') ? `path: path\`${path.replaceAll('{', '${')}\`` : `path: '${path}'`,
    ...(bodyName(operation) === null ? [] : ['body']),
    ...(queryOf(operation).length === 0 ? [] : ['query']),
    ...(hasHeader(operation, 'Idempotency-Key') ? ['takesIdempotencyKey: true'] : []),
    ...(READ_BY_POST.has(operation.operationId) ? ['changesNothing: true'] : []),
  ].join(', ');
  const { isJson, schema } = answerOf(operation);
  if (!isJson) return `call.response({ ${parts} }, options)`;
  const type = schema === null ? 'void' : typeOf(schema, { indent: '', isSent: false });
  const item = itemOf(schema, components);
  if (item === null) return `call.json<${type}>({ ${parts} }, options)`;
  return `call.list<${typeOf(item, { indent: '', isSent: false })}, ${type}>({ ${parts} }, options)`;
};

const functionSource = (operation: Located, components: Document['components']): string =>
  commentOf([operation.summary, operation.description].filter(Boolean).join('\n\n'), '  ') +
  `  ${functionOf(operation)}: (${signatureOf(operation)}) =>\n    ${callOf(operation, components)},\n`;

const resourceSource = (resource: string, operations: readonly Located[], components: Document['components']): string =>
  `/** Operations on \`/v1/${operations[0]?.path.split('/')[2]}\`. */\nexport const ${resource} = (call: Call) => ({\n${operations
    .map((operation) => functionSource(operation, components))
    .join('')}});\n`;

/** Types of all bodies, queries and answers. */
const schemasSource = (document: Document, operations: readonly Located[]): string => {
  const { schemas } = document.components;
  const used = reachable(
    operations.map(({ requestBody, responses }) => [requestBody, responses]),
    schemas,
  );
  const components = Object.keys(schemas).filter((name) => used.has(name) && name !== 'Page' && name !== TWIN);
  const declared = Object.fromEntries(components.map((name) => [name, schemas[name] ?? {}]));
  return (
    HEADER +
    components.map((name) => declarationOf(name, declared)).join('\n') +
    operations
      .map(queryDeclaration)
      .filter(Boolean)
      .map((source) => `\n${source}`)
      .join('')
  );
};

const resourcesSource = (document: Document, operations: readonly Located[]): string => {
  const resources = Map.groupBy(operations, resourceOf);
  const body = [...resources].map(([resource, of]) => resourceSource(resource, of, document.components)).join('\n');
  const named = [...schemasSource(document, operations).matchAll(/^export (?:interface|type) (\w+)/gm)]
    .map(([, name = '']) => name)
    .filter((name) => new RegExp(`\\b${name}\\b`).test(body.replaceAll(/\/\*\*[\s\S]*?\*\//g, '')))
    .sort();
  return `${HEADER}import type { SendBatch, SendMessage } from '../message-body.ts';
import type { Call } from '../call.ts';
import { type ChangeOptions, path, type RequestOptions, type SendOptions } from '../request.ts';
import type {
${named.map((name) => `  ${name},\n`).join('')}} from './schemas.ts';

${body}`;
};

/** Files of `sdk/src/api` by name. @param document as the service answers it. */
export const apiFiles = (document: Document): Readonly<Record<string, string>> => {
  const operations = located(document);
  return {
    'schemas.ts': schemasSource(document, operations),
    'resources.ts': resourcesSource(document, operations),
  };
};
