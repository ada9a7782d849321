import { escapeHtml } from '../../lib/html/html.ts';
import {
  type ApiDocument,
  type ApiOperation,
  type ApiResponse,
  bodyFields,
  fieldList,
  type Locate,
  markdown,
  name,
  nameIn,
} from './document.ts';
import { functionOf, isInSdk, resourceOf } from './sdk-call.ts';
import { LANGUAGES, type SampleRequest } from './snippets.ts';

/** One operation as a section of its page: what it does beside how it is called and what it answers. */

const JSON_TYPE = 'application/json';

/** An operation and where it is. */
export interface PlacedOperation {
  readonly method: string;
  readonly path: string;
  readonly operation: ApiOperation;
}

export interface Context {
  readonly document: ApiDocument;
  readonly locate: Locate;
  /** Bodies by the operation that describes them. */
  readonly owners: ReadonlyMap<string, string>;
}

/** JSON with its names set apart. */
const jsonHtml = (value: unknown): string =>
  escapeHtml(JSON.stringify(value, null, 2)).replaceAll(/^( *)(&quot;.*?&quot;):/gm, '$1<i>$2</i>:');

const figure = (caption: string, html: string, className = ''): string =>
  `<figure${className === '' ? '' : ` class="${className}"`}><figcaption>${caption}</figcaption><pre tabindex="0">${html}</pre></figure>`;

const endpoint = ({ method, path }: Pick<PlacedOperation, 'method' | 'path'>): string =>
  `<b>${method}</b>${name(path)}`;

type Parameter = ApiOperation['parameters'][number];

/** The recorded value; without one, the name of the parameter. */
const sampleOf = ({ name: named, example }: Parameter): unknown => example ?? `{${named}}`;

const sdkOf = (placed: PlacedOperation, isVoid: boolean): SampleRequest['sdk'] => {
  const { operation } = placed;
  const named = { ...operation, method: placed.method, path: placed.path };
  if (!isInSdk(named)) return undefined;
  const of = (place: string) => operation.parameters.filter((one) => one.in === place && one.example !== undefined);
  return {
    name: `${resourceOf(named)}.${functionOf(named)}`,
    ids: of('path').map((one) => String(sampleOf(one))),
    query: Object.fromEntries(of('query').map((one) => [one.name, sampleOf(one)])),
    isVoid,
  };
};

const successOf = ({ responses }: ApiOperation): readonly [status: string, response: ApiResponse] | undefined =>
  Object.entries(responses).find(
    (entry): entry is [string, ApiResponse] => entry[0].startsWith('2') && !('$ref' in entry[1]),
  );

/** The first content of a success. */
const answerOf = (operation: ApiOperation) => Object.entries(successOf(operation)?.[1].content ?? {})[0];

/** Path with the query, as in the recorded answer. */
const pathOf = ({ path, operation: { parameters } }: PlacedOperation): string => {
  const values = Object.fromEntries(parameters.map((one) => [one.name, String(sampleOf(one))]));
  const query = parameters.filter((one) => one.in === 'query' && one.example !== undefined);
  const search = new URLSearchParams(
    query.map((one): [string, string] => [one.name, String(sampleOf(one))]),
  ).toString();
  return path.replaceAll(/\{(\w+)\}/g, (_, named: string) => values[named] ?? '') + (search && `?${search}`);
};

/** The requests of an operation: one for each example of its body. */
export const samplesOf = (placed: PlacedOperation, baseUrl: string) => {
  const { method, operation } = placed;
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const [answerType] = answerOf(operation) ?? [];
  const sdk = sdkOf(placed, answerType === undefined);
  const request: SampleRequest = {
    method,
    baseUrl,
    path: pathOf(placed),
    needsKey: operation.security.length > 0,
    isIdempotent: operation.parameters.some((one) => one.name === 'Idempotency-Key'),
    isJsonAnswer: answerType === JSON_TYPE,
    ...(sdk !== undefined && { sdk }),
  };
  const examples = Object.values(content?.examples ?? {});
  if (examples.length === 0) return [{ summary: '', request }];
  return examples.map(({ summary, value }) => ({
    summary,
    request: { ...request, body: { isForm: type !== JSON_TYPE, value } },
  }));
};

const snippets = (placed: PlacedOperation, { request }: ReturnType<typeof samplesOf>[number]): string =>
  LANGUAGES.map(([id, label, write]) =>
    figure(`<span>${endpoint(placed)}</span><span>${label}</span>`, escapeHtml(write(request)), `code ${id}`),
  ).join('');

const requests = (placed: PlacedOperation, { document }: Context): string => {
  const [first, ...others] = samplesOf(placed, document.servers[0]?.url ?? '');
  if (first === undefined) return '';
  const more = others.map(
    (sample) => `<details><summary>${escapeHtml(sample.summary)}</summary>${snippets(placed, sample)}</details>`,
  );
  return snippets(placed, first) + more.join('');
};

const answer = (operation: ApiOperation): string => {
  const [status = '', response] = successOf(operation) ?? [];
  const [[type, content] = [], ...others] = Object.entries(response?.content ?? {});
  const also = others.length === 0 ? '' : `<span>also as ${others.map(([other]) => name(other)).join(', ')}</span>`;
  const caption = `<span>Response <b>${status}</b>${type === undefined ? '' : ` ${name(type)}`}</span>${also}`;
  const shown = content?.example;
  if (type === undefined) return figure(caption, 'No content');
  if (shown === undefined) return figure(caption, 'Bytes, or a whole document.');
  return figure(caption, typeof shown === 'string' ? escapeHtml(shown) : jsonHtml(shown));
};

const parameters = ({ parameters: all }: ApiOperation, { locate }: Context): string =>
  all.length === 0
    ? ''
    : `<h4>Parameters</h4>${fieldList(
        all.map(({ name: named, in: place, required, description, schema }) => ({
          name: named,
          place,
          isRequired: required,
          description,
          shape: schema,
        })),
        locate,
      )}`;

const requestBody = (operation: ApiOperation, { document, locate, owners }: Context): string => {
  const { required = false, content: contents = {} } = operation.requestBody ?? {};
  const [type, content] = Object.entries(contents)[0] ?? [];
  if (content === undefined) return '';
  const named = nameIn(content.schema.$ref ?? '');
  const anchor = owners.get(named) === operation.operationId ? ` id="${escapeHtml(named)}"` : '';
  const types = type === JSON_TYPE ? '' : `<p class="type">${Object.keys(contents).map(name).join(' or ')}</p>`;
  const fields = bodyFields(document.components.schemas[named] ?? content.schema, locate);
  return `<h4${anchor}>Body${required ? '' : ' (optional)'}</h4>${types}${fields}`;
};

const resolve = (response: ApiOperation['responses'][string], document: ApiDocument): ApiResponse | undefined =>
  '$ref' in response ? document.components.responses[nameIn(String(response.$ref))] : (response as ApiResponse);

/** Headers of every answer are described once, on the first page. */
const headersOf = ({ headers }: ApiResponse): string => {
  const own = Object.keys(headers).filter((header) => header !== 'X-Request-Id' && !header.startsWith('RateLimit'));
  return own.length === 0 ? '' : `<p class="type">Headers: ${own.map(name).join(', ')}</p>`;
};

const responses = (operation: ApiOperation, { document, locate }: Context): string => {
  const all = Object.entries(operation.responses).flatMap(([status, one]) => {
    const response = resolve(one, document);
    return response === undefined ? [] : [{ status, response }];
  });
  const part = ({ status, response }: (typeof all)[number]): string =>
    `<p>${name(status)}</p>${markdown(response.description)}${headersOf(response)}`;
  const [successes, refusals] = [all.filter(({ status }) => status < '4'), all.filter(({ status }) => status >= '4')];
  const [, content] = answerOf(operation) ?? [];
  const shape = content?.schema.$ref === undefined ? '' : bodyType(content.schema.$ref, locate);
  const count = `${refusals.length} error ${refusals.length === 1 ? 'status' : 'statuses'}`;
  const errors =
    refusals.length === 0
      ? ''
      : `<details class="more"><summary>${count}</summary>${refusals.map(part).join('')}</details>`;
  return `<h4>Response</h4>${shape}${successes.map(part).join('')}${errors}`;
};

const bodyType = (reference: string, locate: Locate): string =>
  `<p>Returns <a href="${escapeHtml(locate(nameIn(reference)))}">${name(nameIn(reference))}</a>.</p>`;

const section = (id: string, title: string, text: string, samples: string): string =>
  `<section class="operation" id="${escapeHtml(id)}">
<div class="text"><h3><a href="#${escapeHtml(id)}">${escapeHtml(title)}</a></h3>${text}</div>
<div class="samples">${samples}</div>
</section>`;

/** Everything about one operation, with an anchor of its name. */
export const operationSection = (placed: PlacedOperation, context: Context): string => {
  const { operation } = placed;
  const text = [
    `<p class="endpoint">${endpoint(placed)}</p>`,
    markdown(operation.description),
    parameters(operation, context),
    requestBody(operation, context),
    responses(operation, context),
  ];
  return section(
    operation.operationId,
    operation.summary,
    text.join('\n'),
    requests(placed, context) + answer(operation),
  );
};

/** Describes a webhook request, which we send: example data instead of a command. */
export const webhookSection = (operation: ApiOperation, context: Context): string => {
  const given = Object.values(operation.requestBody?.content[JSON_TYPE]?.examples ?? {});
  const text = [
    markdown(operation.description),
    parameters(operation, context),
    requestBody(operation, context),
    responses(operation, context),
  ];
  const samples = given.map(({ summary, value }) => figure(escapeHtml(summary), jsonHtml(value)));
  return section(operation.operationId, operation.summary, text.join('\n'), samples.join(''));
};
